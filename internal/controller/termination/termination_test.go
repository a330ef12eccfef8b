package termination

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
)

// dying is a claim, its Node under deletion, and the controllers.
type dying struct {
	*fakecluster.Cluster
	claim *v1.NodeClaim
	node  *corev1.Node
	queue *EvictionQueue
	term  *Termination
}

func newDying(t *testing.T, change func(*dying)) *dying {
	w := fakecluster.New(t)
	d := &dying{Cluster: w, claim: w.LaunchedClaim("a", v1.ConditionTypeRegistered, v1.ConditionTypeInitialized), node: w.RegisteredNode("a")}
	if change != nil {
		change(d)
	}
	if d.claim != nil {
		w.Add(d.claim)
	}
	w.Add(d.node)
	w.Delete(d.node)
	d.queue = NewEvictionQueue(w.Shared)
	d.term = New(w.Shared, d.queue)
	return d
}

func (d *dying) pass() reconcile.Result { d.Helper(); return d.Run(d.term, d.node) }

func (d *dying) evictAll() {
	for key := range d.queue.Deadlines() {
		_, _ = d.queue.Reconcile(d.Context(), key)
	}
}

func (d *dying) condition(name string) string {
	return fakecluster.Condition(fakecluster.Must(d.Cluster, d.claim).Status.Conditions, name)
}

func (d *dying) gone() bool { _, there := fakecluster.Get(d.Cluster, d.node); return !there }

func TestTermination(t *testing.T) {
	t.Run("from the deletion to the end", func(t *testing.T) {
		t.Attr("covers", "C200 C204 C206 C207 C208 C209 C210 C214 C229")
		d := newDying(t, func(d *dying) {
			d.node.Spec.Taints = []corev1.Taint{{Key: v1.DisruptedTaintKey, Effect: corev1.TaintEffectNoExecute}, {Key: "kept", Effect: corev1.TaintEffectNoSchedule}}
		})
		pod := d.Pod("p", "a")
		d.Add(pod)

		d.pass()
		if result := d.pass(); result.RequeueAfter != time.Second {
			t.Fatalf("draining: %+v", result)
		}
		node := fakecluster.Must(d.Cluster, d.node)
		wantTaints := []corev1.Taint{{Key: "kept", Effect: corev1.TaintEffectNoSchedule}, {Key: v1.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
		if !slices.Equal(node.Spec.Taints, wantTaints) || node.Labels[corev1.LabelNodeExcludeBalancers] != "karpenter" || node.Spec.Unschedulable {
			t.Errorf("taints %v, labels %v, unschedulable %v", node.Spec.Taints, node.Labels, node.Spec.Unschedulable)
		}
		if fakecluster.Must(d.Cluster, d.claim).DeletionTimestamp == nil {
			t.Error("the claim was not deleted")
		}
		if want := []string{"Warning FailedDraining a: Failed to drain node, 1 pods are waiting to be evicted"}; !slices.Equal(d.Events(), want) {
			t.Errorf("events %q", d.Events())
		}
		if got := d.condition("Drained"); got != "Unknown/Draining/Draining" {
			t.Errorf("Drained %q", got)
		}
		d.evictAll()
		if result := d.pass(); result.RequeueAfter != time.Second || d.condition("Drained") != "Unknown/Draining/Draining" {
			t.Errorf("before five seconds: %+v, Drained %q", result, d.condition("Drained"))
		}
		d.Time.Step(5 * time.Second)
		if result := d.pass(); result.RequeueAfter != 5*time.Second || d.condition("Drained") != "True/Drained/" || d.condition("VolumesDetached") != "True/VolumesDetached/" || d.condition("InstanceTerminating") != "True/InstanceTerminating/" {
			t.Errorf("instance terminating: %+v", result)
		}
		d.pass()
		if d.gone() || d.Provider.Has("test://a") {
			t.Error("the Node went before its instance")
		}
		d.Provider.Finish("test://a")
		d.pass()
		if !d.gone() {
			t.Error("the Node is still there")
		}
		for metric, labels := range map[string][]string{
			"karpenter_nodes_drained_total":                {"nodepool=pool"},
			"karpenter_nodes_terminated_total":             {"nodepool=pool", "zone=zone-1"},
			"karpenter_nodes_termination_duration_seconds": {"nodepool=pool"},
			"karpenter_nodes_lifetime_duration_seconds":    {"nodepool=pool"},
		} {
			if n := d.Count(metric, labels...); n != 1 {
				t.Errorf("%s counted %v times", metric, n)
			}
		}
	})
	t.Run("a Node without claim is drained and released", func(t *testing.T) {
		t.Attr("covers", "C201 C225")
		d := newDying(t, func(d *dying) { d.claim = nil })
		d.Add(d.Pod("p", "a"))
		d.pass()
		if d.gone() {
			t.Fatal("gone with a pod on it")
		}
		d.evictAll()
		d.pass()
		if !d.gone() || d.Provider.Calls("Delete") != 0 {
			t.Errorf("gone: %v", d.gone())
		}
	})
	t.Run("duplicate claims count as none", func(t *testing.T) {
		t.Attr("covers", "C202")
		d := newDying(t, func(d *dying) {
			other := d.LaunchedClaim("b")
			other.Status.ProviderID = d.claim.Status.ProviderID
			d.Add(other)
		})
		d.pass()
		if !d.gone() || fakecluster.Must(d.Cluster, d.claim).DeletionTimestamp != nil {
			t.Errorf("gone: %v", d.gone())
		}
	})
	t.Run("unmanaged Nodes keep their finalizer", func(t *testing.T) {
		t.Attr("covers", "C203")
		d := newDying(t, func(d *dying) { delete(d.node.Labels, fakecluster.ClassLabel) })
		d.pass()
		if node := fakecluster.Must(d.Cluster, d.node); len(node.Finalizers) != 1 || len(node.Spec.Taints) != 0 {
			t.Errorf("touched: %+v", node)
		}
	})
	t.Run("a Node that is not deleted is left alone", func(t *testing.T) {
		w := fakecluster.New(t)
		node := w.RegisteredNode("a")
		w.Add(node)
		w.Run(New(w.Shared, NewEvictionQueue(w.Shared)), node)
		if len(fakecluster.Must(w, node).Spec.Taints) != 0 {
			t.Error("it was tainted")
		}
	})
	t.Run("other finalizers stay, and nothing is counted twice", func(t *testing.T) {
		t.Attr("covers", "C213")
		d := newDying(t, func(d *dying) {
			d.claim = nil
			d.node.Finalizers = append(d.node.Finalizers, "example.com/other")
		})
		fakecluster.Change(d.Cluster, d.node, func(n *corev1.Node) { setTaintAndLabel(n) })
		thaw := d.Freeze(d.node)
		d.pass()
		d.pass() // from a cache that lags
		thaw()
		if got := fakecluster.Must(d.Cluster, d.node).Finalizers; !slices.Equal(got, []string{"example.com/other"}) {
			t.Errorf("finalizers %v", got)
		}
		if n := d.Count("karpenter_nodes_terminated_total"); n != 1 {
			t.Errorf("counted %v times", n)
		}
	})
	t.Run("many at once", func(t *testing.T) {
		t.Attr("covers", "C205")
		w := fakecluster.New(t)
		queue := NewEvictionQueue(w.Shared)
		term := New(w.Shared, queue)
		var nodes []*corev1.Node
		for i := range 20 {
			name := fmt.Sprint("n", i)
			node := w.RegisteredNode(name)
			w.Add(w.LaunchedClaim(name, v1.ConditionTypeRegistered), node)
			w.Delete(node)
			nodes = append(nodes, node)
		}
		for range 4 {
			var wg sync.WaitGroup
			for _, node := range nodes {
				wg.Go(func() { _, _ = w.Try(term, node) })
			}
			wg.Wait()
			w.Time.Step(5 * time.Second)
			for _, node := range nodes {
				if !w.Provider.Has(node.Spec.ProviderID) {
					w.Provider.Finish(node.Spec.ProviderID)
				}
			}
		}
		for _, node := range nodes {
			if _, there := fakecluster.Get(w, node); there {
				t.Errorf("%s is still there", node.Name)
			}
		}
		if n := w.Count("karpenter_nodes_terminated_total"); n != 20 {
			t.Errorf("counted %v", n)
		}
	})
}

// settle runs a few passes, of which the first deletes the claim.
func (d *dying) settle() {
	d.Helper()
	for range 3 {
		d.pass()
	}
}

func TestTerminationInstance(t *testing.T) {
	notReady := func(d *dying) { d.node.Status.Conditions[0].Status = corev1.ConditionUnknown }
	t.Run("not ready and no instance: released at once", func(t *testing.T) {
		t.Attr("covers", "C211")
		d := newDying(t, notReady)
		d.Add(d.Pod("p", "a"))
		d.Provider.Finish("test://a")
		d.pass()
		d.pass()
		if !d.gone() {
			t.Error("still there")
		}
	})
	t.Run("ready and no instance: drained", func(t *testing.T) {
		t.Attr("covers", "C212")
		d := newDying(t, nil)
		d.Add(d.Pod("p", "a"))
		d.Provider.Finish("test://a")
		d.pass()
		d.pass()
		if d.gone() || d.queue.Len() != 1 {
			t.Errorf("gone: %v, %d in the queue", d.gone(), d.queue.Len())
		}
	})
	t.Run("the provider is not asked every second", func(t *testing.T) {
		t.Attr("covers", "W012")
		d := newDying(t, notReady)
		d.Add(d.Pod("p", "a"))
		d.pass()
		for range 9 {
			d.pass()
			d.Time.Step(time.Second)
		}
		if n := d.Provider.Calls("Get"); n != 1 {
			t.Errorf("asked %d times in nine seconds", n)
		}
		d.Time.Step(time.Second)
		d.Provider.Finish("test://a")
		d.pass()
		if !d.gone() {
			t.Error("a vanished instance is not noticed")
		}
	})
	t.Run("provider errors are returned", func(t *testing.T) {
		d := newDying(t, notReady)
		d.pass()
		d.Provider.GetErr = errors.New("throttled")
		if _, err := d.Try(d.term, d.node); err == nil || !strings.HasPrefix(err.Error(), "getting nodeclaim, ") {
			t.Errorf("error %v", err)
		}
		d = newDying(t, nil)
		d.settle()
		d.Time.Step(5 * time.Second)
		d.Provider.DeleteErr = errors.New("throttled")
		if _, err := d.Try(d.term, d.node); !errors.Is(err, d.Provider.DeleteErr) || d.condition("Drained") != "True/Drained/" {
			t.Errorf("error %v, Drained %q", err, d.condition("Drained"))
		}
	})
	t.Run("users see what an instance that cannot be terminated waits for", func(t *testing.T) {
		d := newDying(t, nil)
		d.settle()
		d.Time.Step(5 * time.Second)
		d.Provider.DeleteErr = cloud.NewDeleteError(errors.New("foreign"), "NotOurs", "Set a tag")
		if _, err := d.Try(d.term, d.node); !errors.Is(err, d.Provider.DeleteErr) || d.condition("InstanceTerminating") != "False/NotOurs/Set a tag" {
			t.Errorf("error %v, InstanceTerminating %q", err, d.condition("InstanceTerminating"))
		}
		if !slices.Contains(d.Events(), "Warning FailedTermination a: Failed to terminate the instance, Set a tag") {
			t.Errorf("events %q", d.Events())
		}
		d.Provider.DeleteErr = nil
		d.pass()
		if got := d.condition("InstanceTerminating"); got != "True/InstanceTerminating/" {
			t.Errorf("once it can be terminated, InstanceTerminating is %q", got)
		}
	})
	t.Run("conflicts are retried quietly", func(t *testing.T) {
		d := newDying(t, nil)
		d.Fail = fakecluster.Always("patch", d.node, fakecluster.Conflict())
		if result := d.pass(); result != requeue.Soon() {
			t.Errorf("Node: %+v", result)
		}
		d.Fail = fakecluster.Always("patch-status", d.claim, fakecluster.Conflict())
		if result := d.pass(); result != requeue.Soon() {
			t.Errorf("claim: %+v", result)
		}
	})
}

func TestTerminationDeadline(t *testing.T) {
	annotate := func(value string) func(*dying) {
		return func(d *dying) {
			d.claim.Annotations = map[string]string{v1.NodeClaimTerminationTimestampAnnotationKey: value}
		}
	}
	t.Run("the deadline reaches the queue and the users", func(t *testing.T) {
		t.Attr("covers", "C242")
		at := time.Now().Add(time.Second).UTC().Format(time.RFC3339)
		d := newDying(t, annotate(at))
		pod := d.Pod("p", "a")
		d.Add(pod)
		d.settle()
		if got := d.queue.Deadlines()[keyOf(pod)].UTC().Format(time.RFC3339); got != at {
			t.Errorf("deadline %s, want %s", got, at)
		}
		if want := "Warning TerminationGracePeriodExpiring a: All pods will be deleted by " + at; !slices.Contains(d.Events(), want) {
			t.Errorf("events %q", d.Events())
		}
		d.evictAll()
		if _, there := fakecluster.Get(d.Cluster, pod); there {
			t.Error("the pod is still there")
		}
	})
	for name, grace := range map[string]*metav1.Duration{"with a grace period": {Duration: time.Hour}, "without": nil} {
		t.Run("a malformed deadline does not wedge the Node, "+name, func(t *testing.T) {
			t.Attr("covers", "C215 W013")
			d := newDying(t, func(d *dying) {
				annotate("tomorrow")(d)
				d.claim.Spec.TerminationGracePeriod = grace
			})
			d.settle()
			got, ok := fakecluster.Must(d.Cluster, d.claim).Annotations[v1.NodeClaimTerminationTimestampAnnotationKey]
			want := ""
			if grace != nil {
				want = fakecluster.Must(d.Cluster, d.claim).DeletionTimestamp.Add(time.Hour).Format(time.RFC3339)
			}
			if when, err := time.Parse(time.RFC3339, got); grace != nil && (err != nil || when.Sub(d.Time.Now()).Round(time.Minute) != time.Hour) || grace == nil && ok {
				t.Errorf("deadline %q, want about %q", got, want)
			}
			if !slices.ContainsFunc(d.Events(), func(e string) bool { return strings.HasPrefix(e, "Warning InvalidTerminationTimestamp a: ") }) {
				t.Errorf("events %q", d.Events())
			}
			if d.condition("Drained") == "" {
				t.Error("the drain has not begun")
			}
		})
	}
}

func TestTerminationVolumes(t *testing.T) {
	t.Attr("covers", "C254 C255 C256 C257 C258")
	attachment := func(name, volume string) *storagev1.VolumeAttachment {
		out := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "a"}}
		if volume != "" {
			out.Spec.Source.PersistentVolumeName = &volume
		}
		return out
	}
	volumeClaim := func(name, volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	staying := func(d *dying, volumes ...corev1.Volume) *corev1.Pod {
		pod := d.Pod("stays", "a")
		tolerant(pod)
		pod.Spec.Volumes = volumes
		return pod
	}
	byClaim := corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	ephemeral := corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}
	for name, c := range map[string]struct {
		setUp    func(*dying)
		deadline time.Duration
		want     string
		events   int
	}{
		"no attachments": {want: "True/VolumesDetached/"},
		"an attachment": {
			setUp: func(d *dying) { d.Add(attachment("x", "v")) }, events: 1,
			want: "Unknown/AwaitingVolumeDetachment/AwaitingVolumeDetachment",
		},
		"an attachment without volume": {setUp: func(d *dying) { d.Add(attachment("x", "")) }, want: "True/VolumesDetached/"},
		"an attachment of a pod that stays": {
			setUp: func(d *dying) { d.Add(attachment("x", "v"), volumeClaim("data", "v"), staying(d, byClaim)) }, want: "True/VolumesDetached/",
		},
		"an ephemeral volume of a pod that stays": {
			setUp: func(d *dying) { d.Add(attachment("x", "v"), volumeClaim("stays-scratch", "v"), staying(d, ephemeral)) }, want: "True/VolumesDetached/",
		},
		"a pod that stays names a claim that is gone": {
			setUp: func(d *dying) { d.Add(attachment("x", "v"), staying(d, byClaim)) }, events: 1,
			want: "Unknown/AwaitingVolumeDetachment/AwaitingVolumeDetachment",
		},
		"after the deadline": {
			setUp: func(d *dying) { d.Add(attachment("x", "v")) }, deadline: -time.Minute,
			want: "False/TerminationGracePeriodElapsed/TerminationGracePeriodElapsed",
		},
		"before the deadline": {
			setUp: func(d *dying) { d.Add(attachment("x", "v")) }, deadline: time.Hour, events: 1,
			want: "Unknown/AwaitingVolumeDetachment/AwaitingVolumeDetachment",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDying(t, func(d *dying) {
				condition.For(d.claim, d.Time.Now()).Unknown(v1.ConditionTypeDrained, "Draining", "Draining")
				if c.deadline != 0 {
					d.claim.Annotations = map[string]string{v1.NodeClaimTerminationTimestampAnnotationKey: d.Time.Now().Add(c.deadline).Format(time.RFC3339)}
				}
			})
			if c.setUp != nil {
				c.setUp(d)
			}
			d.Time.Step(5 * time.Second)
			d.settle()
			if got := d.condition("VolumesDetached"); got != c.want {
				t.Errorf("VolumesDetached %q, want %q", got, c.want)
			}
			events := slices.DeleteFunc(d.Events(), func(e string) bool {
				return e != "Normal AwaitingVolumeDetachment a: Awaiting deletion of bound volumeattachments (x)"
			})
			if len(events) != c.events {
				t.Errorf("events %q", d.Events())
			}
			if waiting := d.Provider.Calls("Delete") == 0; waiting != (c.events > 0) {
				t.Errorf("the instance waits: %v", waiting)
			}
		})
	}
}
