package translate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// shelf holds objects by name.
type shelf struct {
	claims  map[string]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
}

func (s shelf) Claim(namespace, name string) *corev1.PersistentVolumeClaim {
	return s.claims[namespace+"/"+name]
}
func (s shelf) Volume(name string) *corev1.PersistentVolume { return s.volumes[name] }
func (s shelf) Class(name string) *storagev1.StorageClass   { return s.classes[name] }
func (s shelf) Required(driver string) bool                 { return driver == "required" }
func (s shelf) Zonal(driver string) bool                    { return driver == "disk" }

func fill[T metav1.Object](t *testing.T, into map[string]T, text string, empty func() T) {
	t.Helper()
	for _, one := range strings.Split(text, "\n") {
		if strings.TrimSpace(one) == "" {
			continue
		}
		o := empty()
		if err := yaml.UnmarshalStrict([]byte(one), o); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		key := o.GetName()
		if o.GetNamespace() != "" {
			key = o.GetNamespace() + "/" + key
		}
		into[key] = o
	}
}

// The objects of the tests, one per line.
const (
	testClaims = `
{metadata: {namespace: x, name: free}, spec: {storageClassName: late}}
{metadata: {namespace: x, name: classless}, spec: {}}
{metadata: {namespace: x, name: no-class}, spec: {storageClassName: ""}}
{metadata: {namespace: x, name: lost-class}, spec: {storageClassName: nowhere}}
{metadata: {namespace: x, name: at-once}, spec: {storageClassName: immediate}}
{metadata: {namespace: x, name: unsaid}, spec: {storageClassName: unsaid}}
{metadata: {namespace: x, name: odd-key}, spec: {storageClassName: odd-key}}
{metadata: {namespace: x, name: odd-driver}, spec: {storageClassName: odd-driver}}
{metadata: {namespace: x, name: old-driver}, spec: {storageClassName: old-driver}}
{metadata: {namespace: x, name: in-a-or-b}, spec: {storageClassName: in-a-or-b}}
{metadata: {namespace: x, name: in-racks}, spec: {storageClassName: in-racks}}
{metadata: {namespace: x, name: nowhere}, spec: {storageClassName: matches-none}}
{metadata: {namespace: x, name: common}, spec: {storageClassName: late, accessModes: [ReadWriteMany]}}
{metadata: {namespace: x, name: communal}, spec: {storageClassName: late, accessModes: [ReadWriteMany]}}
{metadata: {namespace: x, name: own}, spec: {storageClassName: late, accessModes: [ReadWriteOnce]}}
{metadata: {namespace: x, name: going, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {storageClassName: late}}
{metadata: {namespace: x, name: lost}, spec: {volumeName: gone}, status: {phase: Lost}}
{metadata: {namespace: x, name: pod-scratch}, spec: {storageClassName: in-a-or-b}}
{metadata: {namespace: x, name: unmarked}, spec: {volumeName: in-b}}
{metadata: {namespace: x, name: volume-gone, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: gone}}
{metadata: {namespace: x, name: volume-going, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: going}}
{metadata: {namespace: x, name: b, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: in-b, storageClassName: nowhere}}
{metadata: {namespace: x, name: b-or-c, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: in-b-or-c}}
{metadata: {namespace: x, name: local, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: local}}
{metadata: {namespace: x, name: local-in-b, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: local-in-b}}
{metadata: {namespace: x, name: host-path, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: host-path}}
{metadata: {namespace: x, name: one-host, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: one-host}}
{metadata: {namespace: x, name: one-name, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: one-name}}
{metadata: {namespace: x, name: no-node, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: no-node}}
{metadata: {namespace: x, name: nfs, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: nfs}}
{metadata: {namespace: x, name: ebs, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: ebs}}
{metadata: {namespace: x, name: odd-volume, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: odd}}
{metadata: {namespace: x, name: misnamed}, spec: {storageClassName: misnamed}}
{metadata: {namespace: x, name: half-misnamed}, spec: {storageClassName: half-misnamed}}
{metadata: {namespace: x, name: no-number, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: no-number}}
{metadata: {namespace: x, name: negative, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: negative}}
{metadata: {namespace: x, name: excludes-misnamed, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: excludes-misnamed}}
{metadata: {namespace: x, name: misnamed-or-b, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: misnamed-or-b}}
{metadata: {namespace: x, name: two-names, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: two-names}}
{metadata: {namespace: x, name: local-misnamed, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: local-misnamed}}
{metadata: {namespace: x, name: old-zone, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: old-zone}}
`
	testVolumes = `
{metadata: {name: in-b}, spec: {csi: {driver: disk, volumeHandle: h}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [b]}]}]}}}}
{metadata: {name: in-b-or-c}, spec: {csi: {driver: disk, volumeHandle: h}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [b]}]}, {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [c]}]}]}}}}
{metadata: {name: going, deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {csi: {driver: disk, volumeHandle: h}}}
{metadata: {name: local}, spec: {local: {path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}, {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [b]}]}]}}}}
{metadata: {name: local-in-b}, spec: {local: {path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}, {key: topology.kubernetes.io/zone, operator: In, values: [b]}]}]}}}}
{metadata: {name: host-path}, spec: {hostPath: {path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]}}}}
{metadata: {name: one-host}, spec: {csi: {driver: disk, volumeHandle: h}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}}}
{metadata: {name: one-name}, spec: {csi: {driver: disk, volumeHandle: h}, nodeAffinity: {required: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]}}}}
{metadata: {name: no-node}, spec: {csi: {driver: disk, volumeHandle: h}, nodeAffinity: {required: {nodeSelectorTerms: [{}]}}}}
{metadata: {name: nfs}, spec: {nfs: {server: s, path: /d}}}
{metadata: {name: ebs}, spec: {awsElasticBlockStore: {volumeID: v}}}
{metadata: {name: odd}, spec: {csi: {driver: odd, volumeHandle: h}}}
{metadata: {name: no-number}, spec: {nfs: {server: s, path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: generation, operator: Gt, values: [many]}]}]}}}}
{metadata: {name: negative}, spec: {nfs: {server: s, path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: generation, operator: Gt, values: ["-2"]}]}]}}}}
{metadata: {name: excludes-misnamed}, spec: {nfs: {server: s, path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: team, operator: NotIn, values: ["not a value!"]}]}]}}}}
{metadata: {name: misnamed-or-b}, spec: {nfs: {server: s, path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}, {key: team, operator: In, values: [one, "not a value!"]}]}, {matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [b]}]}]}}}}
{metadata: {name: two-names}, spec: {nfs: {server: s, path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1, node-2]}]}]}}}}
{metadata: {name: local-misnamed}, spec: {local: {path: /d}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: ["not a value!"]}]}]}}}}
{metadata: {name: old-zone}, spec: {csi: {driver: disk, volumeHandle: h}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: failure-domain.beta.kubernetes.io/zone, operator: In, values: [b]}]}]}}}}
`
	testClasses = `
{metadata: {name: late}, provisioner: disk, volumeBindingMode: WaitForFirstConsumer}
{metadata: {name: immediate}, provisioner: disk, volumeBindingMode: Immediate}
{metadata: {name: unsaid}, provisioner: disk}
{metadata: {name: odd-key}, provisioner: disk, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: odd/key, values: [a]}]}]}
{metadata: {name: odd-driver}, provisioner: odd, volumeBindingMode: WaitForFirstConsumer}
{metadata: {name: old-driver}, provisioner: kubernetes.io/aws-ebs, volumeBindingMode: WaitForFirstConsumer}
{metadata: {name: in-a-or-b}, provisioner: disk, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [a, b]}]}]}
{metadata: {name: in-racks}, provisioner: disk, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [a]}, {key: rack, values: ["1"]}]}, {matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [b]}, {key: rack, values: ["2"]}]}]}
{metadata: {name: misnamed}, provisioner: disk, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: team, values: ["not a value!"]}]}]}
{metadata: {name: half-misnamed}, provisioner: disk, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: team, values: [one, "not a value!"]}]}, {matchLabelExpressions: [{key: team, values: [two]}]}]}
{metadata: {name: matches-none}, provisioner: disk, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{}]}
`
)

func testStorage(t *testing.T) translate.Storage {
	t.Helper()
	s := shelf{map[string]*corev1.PersistentVolumeClaim{}, map[string]*corev1.PersistentVolume{}, map[string]*storagev1.StorageClass{}}
	fill(t, s.claims, testClaims, func() *corev1.PersistentVolumeClaim { return &corev1.PersistentVolumeClaim{} })
	fill(t, s.volumes, testVolumes, func() *corev1.PersistentVolume { return &corev1.PersistentVolume{} })
	fill(t, s.classes, testClasses, func() *storagev1.StorageClass { return &storagev1.StorageClass{} })
	return translate.Storage{Volumes: s, UnsupportedProvisioners: []string{"odd"}, UnsupportedTopologyKeys: []string{"odd/key"}}
}

// claimant returns a pending pod that uses these claims; "ephemeral:" starts the name of an ephemeral volume.
func claimant(claims ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "pod"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: corev1.PodReasonUnschedulable}}
	for i, name := range claims {
		v := corev1.Volume{Name: fmt.Sprint("v", i)}
		if own, ok := strings.CutPrefix(name, "ephemeral:"); ok {
			v.Name, v.Ephemeral = own, &corev1.EphemeralVolumeSource{}
		} else {
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v)
	}
	return pod
}

// noValue is what is wrong with the first value of the first expression where it is no label value.
const noValue = `matchExpressions[0].values[0][team]: Invalid value: "not a value!": a valid label must be an empty string or consist of alphanumeric characters, ` +
	`'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', ` +
	`regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`

func TestVolumesOfPodsThatWaitAreValidated(t *testing.T) {
	t.Attr("covers", "L278 L279 L285 L287 L288 L289 L290")
	storage, translator := testStorage(t), translate.New(v1.CoreLabelRules())
	for _, c := range []struct {
		name   string
		claims []string
		want   string // empty for a pod that is accepted
	}{
		{"missing claim", []string{"none"}, "persistentvolumeclaim not found (PersistentVolumeClaim=x/none)"},
		{"missing claim of an ephemeral volume", []string{"ephemeral:none"}, "persistentvolumeclaim not found (PersistentVolumeClaim=x/pod-none)"},
		{"bound, its class is missing", []string{"b"}, ""},
		{"bound, without class", []string{"b-or-c"}, ""},
		{"unbound, class is missing", []string{"lost-class"}, "failed to validate pvc, failed to get storage class, storageclass not found (PersistentVolumeClaim=x/lost-class, StorageClass=nowhere)"},
		{"unbound, class is empty", []string{"no-class"}, "unbound pvc must define a storage class (PersistentVolumeClaim=x/no-class)"},
		{"unbound, without class", []string{"classless"}, "unbound pvc must define a storage class (PersistentVolumeClaim=x/classless)"},
		{"not a CSI volume", []string{"nfs"}, ""},
		{"unsupported provisioner of a class", []string{"odd-driver"}, "failed to validate pvc, provisioner is not supported (PersistentVolumeClaim=x/odd-driver, StorageClass=odd-driver, provisioner=odd)"},
		{"unsupported driver of a volume", []string{"odd-volume"}, "failed to validate pvc, provisioner is not supported (PersistentVolume=odd, PersistentVolumeClaim=x/odd-volume, provisioner=odd)"},
		{"unsupported topology key", []string{"odd-key"}, "failed to validate pvc, storage class uses unsupported topology key (PersistentVolumeClaim=x/odd-key, StorageClass=odd-key, topology-key=odd/key)"},
		{"unbound, binds immediately", []string{"at-once"}, "failed to validate pvc, pvc with immediate volume binding mode must be bound (PersistentVolumeClaim=x/at-once, StorageClass=immediate)"},
		{"unbound, binds immediately unless said otherwise", []string{"unsaid"}, "failed to validate pvc, pvc with immediate volume binding mode must be bound (PersistentVolumeClaim=x/unsaid, StorageClass=unsaid)"},
		{"unbound, binds late", []string{"free"}, ""},
		{"claim is being deleted", []string{"going"}, "persistentvolumeclaim is being deleted (PersistentVolumeClaim=x/going, StorageClass=late)"},
		{"claim lost its volume", []string{"lost"}, "persistentvolumeclaim bound to non-existent persistentvolume (PersistentVolume=gone, PersistentVolumeClaim=x/lost)"},
		{"volume is being deleted", []string{"volume-going"}, "persistentvolume is being deleted (PersistentVolume=going, PersistentVolumeClaim=x/volume-going)"},
		{"volume is gone", []string{"volume-gone"}, "failed to validate pvc, persistentvolume not found (PersistentVolume=gone, PersistentVolumeClaim=x/volume-gone)"},
		{"names a volume, is not bound yet", []string{"unmarked"}, "pvc is considered unbound because it does not contain annotation (PersistentVolume=in-b, PersistentVolumeClaim=x/unmarked, annotation=pv.kubernetes.io/bind-completed)"},
		{"names a volume, is bound", []string{"b"}, ""},
		{"the first volume in trouble decides", []string{"b", "at-once", "none"}, "failed to validate pvc, pvc with immediate volume binding mode must be bound (PersistentVolumeClaim=x/at-once, StorageClass=immediate)"},
		{"a volume that no node can use", []string{"no-node"}, "failed to get volume topology, node affinity of persistentvolume matches no node (PersistentVolume=no-node, PersistentVolumeClaim=x/no-node)"},
		{"a class that serves no node", []string{"nowhere"}, "failed to get volume topology, allowed topologies of storageclass match no node (PersistentVolumeClaim=x/nowhere, StorageClass=matches-none)"},
		{"a class that names no label value", []string{"misnamed"}, "failed to get volume topology, allowed topologies of storageclass match no node (PersistentVolumeClaim=x/misnamed, StorageClass=misnamed, invalid=" + noValue + ")"},
		{"a volume with a bound that is no number", []string{"no-number"}, `failed to get volume topology, node affinity of persistentvolume matches no node (PersistentVolume=no-number, PersistentVolumeClaim=x/no-number, invalid=matchExpressions[0].values[0]: Invalid value: "many": for 'Gt', 'Lt' operators, the value must be an integer)`},
		{"a volume that excludes no label value", []string{"excludes-misnamed"}, "failed to get volume topology, node affinity of persistentvolume matches no node (PersistentVolume=excludes-misnamed, PersistentVolumeClaim=x/excludes-misnamed, invalid=" + noValue + ")"},
		{"one valid term of a volume is enough", []string{"misnamed-or-b"}, ""},
		{"one valid term of a class is enough", []string{"half-misnamed"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := translator.PodWith(claimant(c.claims...), storage).Rejected; got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestAllThatIsWrongWithAPodIsSaid(t *testing.T) {
	pod := claimant("none")
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "n"}
	got := translate.New(v1.CoreLabelRules()).PodWith(pod, testStorage(t)).Rejected
	for _, want := range []string{"persistentvolumeclaim not found", `"kubernetes.io/hostname": the label is restricted`, "; "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

func TestReach(t *testing.T) {
	t.Attr("covers", "L280 L281 L282 L283 L285")
	storage, translator := testStorage(t), translate.New(v1.CoreLabelRules())
	for _, c := range []struct {
		name   string
		claims []string
		want   []string
	}{
		{"no volume", nil, nil},
		{"a class without topologies", []string{"free"}, nil},
		{"topologies of the class", []string{"in-a-or-b"}, []string{"topology.kubernetes.io/zone In [a b]"}},
		{"topologies of the class, ephemeral volume", []string{"ephemeral:scratch"}, []string{"topology.kubernetes.io/zone In [a b]"}},
		{"node affinity of the volume", []string{"b"}, []string{"topology.kubernetes.io/zone In [b]"}},
		{"a deprecated label", []string{"old-zone"}, []string{"topology.kubernetes.io/zone In [b]"}},
		{"a volume of several zones", []string{"b-or-c"}, []string{"topology.kubernetes.io/zone In [b c]"}},
		{"a class with several terms", []string{"in-racks"}, []string{"rack In [1], topology.kubernetes.io/zone In [a]", "rack In [2], topology.kubernetes.io/zone In [b]"}},
		{"several volumes have a common zone", []string{"in-a-or-b", "b-or-c"}, []string{"topology.kubernetes.io/zone In [b]"}},
		{"combinations that cannot be are left out", []string{"in-racks", "b-or-c", "free"}, []string{"rack In [2], topology.kubernetes.io/zone In [b]"}},
		{"a local volume in a zone", []string{"local-in-b"}, []string{"topology.kubernetes.io/zone In [b]"}},
		{"a host path on one node by name", []string{"host-path"}, nil},
		{"a local volume on one node, or in a zone", []string{"local"}, nil},
		{"not a CSI volume", []string{"nfs"}, nil},
		{"a class with a term that cannot be parsed", []string{"half-misnamed"}, []string{"team In [two]"}},
		{"a volume with a term that cannot be parsed", []string{"misnamed-or-b"}, []string{"topology.kubernetes.io/zone In [b]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := translator.PodWith(claimant(c.claims...), storage)
			var got []string
			for _, set := range pod.Shape.VolumeTopology {
				got = append(got, set.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" || pod.Rejected != "" {
				t.Errorf("rejected %q (-want +got)\n%s", pod.Rejected, diff)
			}
		})
	}
	for _, name := range []string{"one-host", "one-name"} {
		t.Run(name, func(t *testing.T) {
			t.Attr("covers", "L281")
			reach := translator.PodWith(claimant(name), storage).Shape.VolumeTopology
			if len(reach) != 1 || !reach[0].Get(corev1.LabelHostname).Has("node-1") || reach[0].Get(corev1.LabelHostname).Has("node-2") {
				t.Errorf("got %v, want node-1 only", reach)
			}
		})
	}
}

// TestTermsThatCannotBeParsedMatchNoNode compares volumes with what kube-scheduler says about them.
func TestTermsThatCannotBeParsedMatchNoNode(t *testing.T) {
	storage, translator := testStorage(t), translate.New(v1.CoreLabelRules())
	node := map[string]string{"team": "one", "generation": "3", corev1.LabelHostname: "node-1", corev1.LabelTopologyZone: "a"}
	for _, name := range []string{"no-number", "negative", "excludes-misnamed", "misnamed-or-b", "two-names", "local-misnamed"} {
		if err := volumehelpers.CheckNodeAffinity(storage.Volumes.Volume(name), node); err == nil {
			t.Errorf("kube-scheduler accepts volume %s", name)
		}
		pod := translator.PodWith(claimant(name), storage)
		for _, set := range pod.Shape.VolumeTopology {
			if set.Compatible(requirement.Labels(node), requirement.Strict) {
				t.Errorf("volume %s can be used on the node: %s", name, set)
			}
		}
		if len(pod.Shape.VolumeTopology) == 0 && pod.Rejected == "" {
			t.Errorf("volume %s can be used everywhere", name)
		}
	}
}

func TestAttachments(t *testing.T) {
	t.Attr("covers", "L284 L285 L291")
	storage, translator := testStorage(t), translate.New(v1.CoreLabelRules())
	for _, c := range []struct {
		name   string
		claims []string
		want   []volume.Attachment
	}{
		{"the driver of the volume", []string{"b"}, []volume.Attachment{{Driver: "disk", Claim: "x/b"}}},
		{"the provisioner of the class", []string{"free"}, []volume.Attachment{{Driver: "disk", Claim: "x/free"}}},
		{"an ephemeral volume", []string{"ephemeral:scratch"}, []volume.Attachment{{Driver: "disk", Claim: "x/pod-scratch"}}},
		{"a claim that is used twice", []string{"b", "free", "b"}, []volume.Attachment{{Driver: "disk", Claim: "x/b"}, {Driver: "disk", Claim: "x/free"}}},
		{"a volume of the driver that was built in", []string{"ebs"}, []volume.Attachment{{Driver: "ebs.csi.aws.com", Claim: "x/ebs"}}},
		{"a class of the driver that was built in", []string{"old-driver"}, []volume.Attachment{{Driver: "ebs.csi.aws.com", Claim: "x/old-driver"}}},
		{"not a CSI volume", []string{"nfs"}, nil},
		{"unknown", []string{"none", "lost-class", "volume-gone"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, translator.PodWith(claimant(c.claims...), storage).Attachments()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestBoundPodsAreNotValidated: a bound pod is rejected only if its volumes are missing, so that it cannot be rescheduled.
func TestBoundPodsAreNotValidated(t *testing.T) {
	t.Attr("covers", "L293")
	storage, translator := testStorage(t), translate.New(v1.CoreLabelRules())
	for _, c := range []struct{ claim, want string }{
		{"at-once", ""},
		{"going", ""},
		{"odd-driver", ""},
		{"unmarked", ""},
		{"no-class", ""},
		{"none", "failed to get volume topology, persistentvolumeclaim not found (PersistentVolumeClaim=x/none)"},
		{"volume-gone", "failed to get volume topology, persistentvolume not found (PersistentVolume=gone, PersistentVolumeClaim=x/volume-gone)"},
		{"lost-class", "failed to get volume topology, storageclass not found (PersistentVolumeClaim=x/lost-class, StorageClass=nowhere)"},
	} {
		pod := claimant(c.claim)
		pod.Spec.NodeName = "n"
		if got := translator.PodWith(pod, storage).Rejected; got != c.want {
			t.Errorf("%s: got %q, want %q", c.claim, got, c.want)
		}
	}
}

func TestPodsOfOneWorkloadInOneZoneShareTheirShape(t *testing.T) {
	storage, translator := testStorage(t), translate.New(v1.CoreLabelRules())
	inB, alsoB, elsewhere := claimant("b"), claimant("old-zone"), claimant("in-a-or-b")
	a, b, c := translator.PodWith(inB, storage), translator.PodWith(alsoB, storage), translator.PodWith(elsewhere, storage)
	if a.Shape != b.Shape {
		t.Error("two pods with volumes in one zone have two shapes")
	}
	if a.Shape == c.Shape {
		t.Error("pods with volumes in different zones share a shape")
	}
	for _, c := range []struct {
		name string
		a, b []string
		same bool
	}{
		{"one needs no slot", nil, []string{"free"}, false},
		{"one needs more slots", []string{"free"}, []string{"free", "ebs"}, false},
		{"each has a dedicated volume", []string{"free"}, []string{"own"}, true},
		{"each uses a volume that others may use", []string{"common"}, []string{"communal"}, false},
	} {
		a, b := translator.PodWith(claimant(c.a...), storage), translator.PodWith(claimant(c.b...), storage)
		if (a.Shape == b.Shape) != c.same {
			t.Errorf("%s: slots %q and %q", c.name, a.Shape.Drivers, b.Shape.Drivers)
		}
	}
}

func TestAttachable(t *testing.T) {
	if got := translate.Attachable(nil); got != nil {
		t.Errorf("limits %v without a CSINode", got)
	}
	none, some := int32(0), int32(25)
	node := &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "free"},
		{Name: "none", Allocatable: &storagev1.VolumeNodeResources{Count: &none}},
		{Name: "some", Allocatable: &storagev1.VolumeNodeResources{Count: &some}},
		{Name: "open", Allocatable: &storagev1.VolumeNodeResources{}},
	}}}
	want := volume.Limits{"free": math.MaxInt, "none": 0, "some": 25, "open": math.MaxInt}
	if diff := cmp.Diff(want, translate.Attachable(node)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
