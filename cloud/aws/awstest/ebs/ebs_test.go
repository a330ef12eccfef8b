package ebs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// Every sleep here is in a bubble of testing/synctest, where it takes no time and lets the driver continue.

// bed is a cluster with a node that is an instance and one that is not. The driver has not started yet.
type bed struct {
	*testing.T
	client  client.Client
	account *awstest.Account
}

func setUp(t *testing.T) *bed {
	t.Helper()
	b := &bed{T: t, client: apiserver.New().Build(), account: awstest.New(awstest.Options{Types: []string{"m5.large"}})}
	id := b.account.AddInstance(awstest.Instance{Type: "m5.large", Zone: "us-east-1b"}, nil)
	mine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "mine", Labels: map[string]string{}}, Spec: corev1.NodeSpec{
		ProviderID: "aws:///us-east-1b/" + id, Taints: []corev1.Taint{{Key: "other"}, {Key: NotReady}},
	}}
	other := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{}}, Spec: corev1.NodeSpec{ProviderID: "aws:///us-east-1b/i-none"}}
	b.create(mine, other)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); New(Options{Account: b.account, Client: b.client}).Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return b
}

func (b *bed) create(objects ...client.Object) {
	b.Helper()
	for _, o := range objects {
		if err := b.client.Create(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
}

// volumes are the zones of the existing volumes, by claim.
func (b *bed) volumes() map[string]string {
	b.Helper()
	var list corev1.PersistentVolumeList
	if err := b.client.List(b.Context(), &list); err != nil {
		b.Fatal(err)
	}
	out := map[string]string{}
	for i := range list.Items {
		spec := list.Items[i].Spec
		out[spec.ClaimRef.Name] = spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0]
	}
	return out
}

func TestNodesGetTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t)
		time.Sleep(time.Second)
		node, driver := &corev1.Node{}, &storagev1.CSINode{}
		for _, o := range []client.Object{node, driver} {
			if err := b.client.Get(t.Context(), client.ObjectKey{Name: "mine"}, o); err != nil {
				t.Fatal(err)
			}
		}
		// 28 in all, two of which a network interface and the root volume take.
		if d := driver.Spec.Drivers[0]; d.Name != Name || *d.Allocatable.Count != 26 || driver.OwnerReferences[0].Name != "mine" {
			t.Errorf("driver %+v", driver)
		}
		if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "other" || node.Labels[ZoneLabel] != "us-east-1b" {
			t.Errorf("labels %v, taints %v", node.Labels, node.Spec.Taints)
		}
		var all storagev1.CSINodeList
		if err := b.client.List(t.Context(), &all); err != nil || len(all.Items) != 1 {
			t.Errorf("it runs on %d nodes, %v", len(all.Items), err)
		}
	})
}

func TestClaimsGetVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t)
		later, atOnce := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
		in := []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: ZoneLabel, Values: []string{"us-east-1d"}}}}}
		b.create(
			&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Provisioner: Name, VolumeBindingMode: &later},
			&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "at-once"}, Provisioner: Name, VolumeBindingMode: &atOnce, AllowedTopologies: in},
			&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "anywhere"}, Provisioner: Name},
			&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Provisioner: "example.com/other"},
		)
		claims := map[string]*corev1.PersistentVolumeClaim{}
		for _, class := range []string{"later", "at-once", "anywhere", "foreign"} {
			c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: class, UID: types.UID("uid-" + class)}}
			c.Spec.StorageClassName, claims[class] = &class, c
			b.create(c)
		}
		check := func(want map[string]string) {
			t.Helper()
			time.Sleep(time.Second)
			have := b.volumes()
			for name := range claims {
				if have[name] != want[name] {
					t.Errorf("the volume of %s is in %q, want %q", name, have[name], want[name])
				}
			}
		}
		check(map[string]string{"at-once": "us-east-1d", "anywhere": "us-east-1a"})
		claims["later"].Annotations = map[string]string{selectedNode: "mine"}
		if err := b.client.Update(t.Context(), claims["later"]); err != nil {
			t.Fatal(err)
		}
		check(map[string]string{"at-once": "us-east-1d", "anywhere": "us-east-1a", "later": "us-east-1b"})
		given := &corev1.PersistentVolume{}
		if err := b.client.Get(t.Context(), client.ObjectKey{Name: "pvc-uid-later"}, given); err != nil {
			t.Fatal(err)
		}
		given.Status.Phase = corev1.VolumeReleased
		if err := b.client.Status().Update(t.Context(), given); err != nil {
			t.Fatal(err)
		}
		if err := b.client.Delete(t.Context(), claims["later"]); err != nil {
			t.Fatal(err)
		}
		check(map[string]string{"at-once": "us-east-1d", "anywhere": "us-east-1a"})
	})
}
