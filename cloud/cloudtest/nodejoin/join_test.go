package nodejoin_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/cloudtest/nodejoin"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// Every sleep here is in a bubble of testing/synctest, where it takes no time and lets the joiner continue.

// bed is a cloud with instances, and a cluster for them.
type bed struct {
	t      *testing.T
	client client.Client
	joiner *nodejoin.Joiner

	mu        sync.Mutex
	instances []nodejoin.Instance
	refusal   error
}

func setUp(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, client: apiserver.New().WithStatusSubresource(&corev1.Node{}).Build()}
	b.instances = []nodejoin.Instance{{ID: "i", Phase: nodejoin.Running, Launched: time.Now(), BootID: "first", Node: func(context.Context) (*corev1.Node, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Phase: corev1.NodeRunning}}, b.refusal
	}}}
	b.joiner = nodejoin.New(nodejoin.Options{Client: b.client, Boot: 2 * time.Second, Instances: func() []nodejoin.Instance {
		b.mu.Lock()
		defer b.mu.Unlock()
		return append([]nodejoin.Instance(nil), b.instances...)
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.joiner.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return b
}

// change changes the cloud.
func (b *bed) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// node is the Node; nil if there is none.
func (b *bed) node() *corev1.Node {
	b.t.Helper()
	node := &corev1.Node{}
	err := b.client.Get(b.t.Context(), client.ObjectKey{Name: "n"}, node)
	if client.IgnoreNotFound(err) != nil {
		b.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return node
}

// TestInstanceJoinsWhenItHasBooted, and what keeps it from joining is recorded until it has.
func TestInstanceJoinsWhenItHasBooted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t)
		b.change(func() { b.refusal = errors.New("no custom data") })
		time.Sleep(time.Second)
		if err := b.joiner.Refusal("i"); err != nil {
			t.Errorf("it boots, and the refusal is %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := b.joiner.Refusal("i"); err == nil || b.node() != nil || b.joiner.Node("i") != "" {
			t.Errorf("the refusal is %v", err)
		}
		b.change(func() { b.refusal = nil })
		time.Sleep(2 * time.Second)
		if n := b.node(); n == nil || n.Status.Phase != corev1.NodeRunning || n.Status.NodeInfo.BootID != "first" || b.joiner.Refusal("i") != nil || b.joiner.Node("i") != "n" {
			t.Errorf("the node is %v, the refusal %v", n, b.joiner.Refusal("i"))
		}
	})
}

// TestAgentReportsConditions beside those of the kubelet, once for each change.
func TestAgentReportsConditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t)
		time.Sleep(3 * time.Second)
		n := b.node()
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if err := b.client.Status().Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		notice := corev1.NodeCondition{Type: "PreemptionScheduled", Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second))}
		b.change(func() { b.instances[0].Conditions = []corev1.NodeCondition{notice} })
		time.Sleep(time.Second)
		n = b.node()
		version := n.ResourceVersion
		if len(n.Status.Conditions) != 2 || n.Status.Conditions[0].Status != corev1.ConditionTrue || n.Status.Conditions[1].Type != "PreemptionScheduled" {
			t.Fatalf("the conditions are %+v", n.Status.Conditions)
		}
		time.Sleep(5 * time.Second)
		if n = b.node(); n.ResourceVersion != version {
			t.Error("it is reported again")
		}
		b.change(func() { b.instances[0].BootID = "second" })
		time.Sleep(time.Second)
		if n = b.node(); n.Status.NodeInfo.BootID != "second" || len(n.Status.Conditions) != 2 {
			t.Errorf("after a reboot it is %+v", n.Status)
		}
	})
}

// TestNodeEndsWithItsInstance, also if the cloud does not list the instance any more.
func TestNodeEndsWithItsInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t)
		time.Sleep(3 * time.Second)
		n := b.node()
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if err := b.client.Status().Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		b.change(func() { b.instances[0].Phase = nodejoin.Stopping })
		time.Sleep(time.Second)
		if n = b.node(); n == nil || n.Status.Conditions[0].Status != corev1.ConditionUnknown || n.Annotations[nodejoin.HandsOff] == "" {
			t.Fatalf("node %+v is not unknown", n)
		}
		b.change(func() { b.instances = nil })
		time.Sleep(time.Second)
		if b.node() != nil {
			t.Error("the node is left")
		}
	})
}
