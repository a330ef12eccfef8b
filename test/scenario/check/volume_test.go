package check

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// withVolume is the valid plan with a volume for pod a, on its new node in zone a, and for pod b, on the existing node.
func withVolume() Subject {
	s := right()
	volume := func(name string, zones ...string) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disk"}
		for _, zone := range zones {
			if v.Spec.NodeAffinity == nil {
				v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
			}
			required := v.Spec.NodeAffinity.Required
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
			})
		}
		return v
	}
	claim := func(name, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	one := int32(1)
	drivers := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	drivers.Spec.Drivers = []storagev1.CSINodeDriver{{Name: "disk", Allocatable: &storagev1.VolumeNodeResources{Count: &one}}}
	s.Objects = append(s.Objects, volume("zonal", "b", "a"), volume("free"), claim("zonal", "zonal"), claim("free", "free"), drivers)
	use(s, "a", "zonal")
	use(s, "b", "free")
	return s
}

func use(s Subject, pod, claim string) {
	p, _ := object[*corev1.Pod](&judge{Subject: s}, pod)
	source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: source})
}

// share adds a volume that is created for the first of its two pods: a, in zone a, and b, on a node without a zone.
func share(s *Subject) {
	late, class := storagev1.VolumeBindingWaitForFirstConsumer, "late"
	s.Objects = append(s.Objects,
		&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "files", VolumeBindingMode: &late},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}})
	use(*s, "a", "shared")
	use(*s, "b", "shared")
}

func TestJudgeFindsViolationsOfVolumes(t *testing.T) {
	if errs := Judge(withVolume()); len(errs) > 0 {
		t.Fatalf("violations of a valid plan: %v", errs)
	}
	find := func(s *Subject, name string) *corev1.PersistentVolume {
		v, _ := object[*corev1.PersistentVolume](&judge{Subject: *s}, name)
		return v
	}
	for _, c := range []struct {
		name, want string
		spoil      func(*Subject)
	}{
		{"a volume elsewhere", "pod a cannot use its volumes there", func(s *Subject) {
			find(s, "zonal").Spec.NodeAffinity.Required.NodeSelectorTerms = find(s, "zonal").Spec.NodeAffinity.Required.NodeSelectorTerms[:1]
		}},
		{"a claim that is not there", "pod a cannot use its volumes there", func(s *Subject) { use(*s, "a", "nothing") }},
		{"a zonal volume on a node without zone", "pod b cannot use its volumes on node", func(s *Subject) { use(*s, "b", "zonal") }},
		{"one volume too many", "node has 2 volumes of disk and can attach 1", func(s *Subject) {
			second := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "free"}}
			s.Objects = append(s.Objects, second)
			use(*s, "b", "second")
		}},
		{"one volume more than bound pods leave", "node has 2 volumes of disk and can attach 1", func(s *Subject) {
			second := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "free"}}
			s.Objects = append(s.Objects, second, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}, Spec: corev1.PodSpec{NodeName: "node"}})
			use(*s, "d", "second")
		}},
		{"a volume for two zones", "pod a on claim 1 and pod b on node share a volume and may be in different zones", func(s *Subject) { share(s) }},
		{"a volume that could be used", "pod a is refused, but would fit a two", func(s *Subject) { s.Claims, s.Refused = nil, []types.UID{"a", "c"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := withVolume()
			c.spoil(&s)
			found := false
			errs := Judge(s)
			for _, err := range errs {
				found = found || strings.Contains(err.Error(), c.want)
			}
			if !found {
				t.Errorf("want %q among %q", c.want, errs)
			}
		})
	}
}

func TestJudgeAllowsValidVolumes(t *testing.T) {
	for name, edit := range map[string]func(*Subject){
		"an unreachable volume is a reason to refuse": func(s *Subject) {
			v, _ := object[*corev1.PersistentVolume](&judge{Subject: *s}, "zonal")
			v.Spec.NodeAffinity.Required.NodeSelectorTerms = v.Spec.NodeAffinity.Required.NodeSelectorTerms[:1]
			s.Claims, s.Refused = nil, []types.UID{"a", "c"}
		},
		"a volume that is created in another zone is a reason to refuse": func(s *Subject) {
			share(s)
			s.Claims, s.Refused = nil, []types.UID{"a", "c"}
		},
		"a volume of a driver without zones is shared by all": func(s *Subject) {
			share(s)
			drivers, _ := object[*storagev1.CSINode](&judge{Subject: *s}, "node")
			drivers.Spec.Drivers = append(drivers.Spec.Drivers, storagev1.CSINodeDriver{Name: "files", TopologyKeys: []string{"files/region"}})
		},
		"a node beyond its limit takes pods that add nothing": func(s *Subject) {
			over := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}, Spec: corev1.PodSpec{NodeName: "node"}}
			second := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "second"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "free"}}
			s.Objects = append(s.Objects, over, second)
			use(*s, "d", "second")
			use(*s, "d", "free")
		},
		"where a local volume was does not matter": func(s *Subject) {
			v, _ := object[*corev1.PersistentVolume](&judge{Subject: *s}, "zonal")
			v.Spec.CSI, v.Spec.Local = nil, &corev1.LocalVolumeSource{}
			terms := v.Spec.NodeAffinity.Required.NodeSelectorTerms[:1]
			terms[0].MatchExpressions[0] = corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"gone"}}
			v.Spec.NodeAffinity.Required.NodeSelectorTerms = terms
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := withVolume()
			edit(&s)
			if errs := Judge(s); len(errs) > 0 {
				t.Errorf("got %v", errs)
			}
		})
	}
}
