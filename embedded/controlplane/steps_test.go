package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
	"github.com/karpenter-anew/karpenter/embedded/kubelet"
	"github.com/karpenter-anew/karpenter/embedded/scheduler"
	"github.com/karpenter-anew/karpenter/embedded/view"
)

// world is a control plane without a port, whose clock stands still between calls of settle.
type world struct {
	*testing.T
	now      time.Time
	registry *registry.Registry
	view     *view.View
	kubelets kubelet.Kubelets
	placer   scheduler.Scheduler
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	next := 0
	unique := func() string {
		next++
		return fmt.Sprintf("%05d", next)
	}
	r, err := registry.New(registry.Options{
		Now: func() time.Time { return w.now }, UID: func() types.UID { return types.UID("uid-" + unique()) }, Suffix: unique, History: 1000,
		GenericWorkload: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.registry, w.view = r, view.New(r)
	return w
}

// settle lets the components act until nothing changes.
func (w *world) settle() {
	w.Helper()
	if _, err := settle(context.Background(), w.registry, w.view, &w.kubelets, &w.placer); err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(objects ...client.Object) {
	w.Helper()
	for _, o := range objects {
		if err := w.view.Create(o); err != nil {
			w.Fatal(err)
		}
	}
	w.settle()
}

func list[T any, P view.Object[T]](w *world) []P {
	w.Helper()
	out, err := view.List[T, P](w.view)
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// change edits the only object of a type.
func change[T any, P view.Object[T]](w *world, edit func(P)) {
	w.Helper()
	all := list[T, P](w)
	if len(all) != 1 {
		w.Fatalf("%d objects, want 1", len(all))
	}
	o, _ := any(all[0].DeepCopyObject()).(P)
	edit(o)
	if err := w.view.Update(o); err != nil {
		w.Fatal(err)
	}
	w.settle()
}

// where are the names of the nodes of running pods, "" for pending pods, sorted.
func (w *world) where() []string {
	w.Helper()
	out := []string{}
	for _, pod := range list[corev1.Pod](w) {
		if pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodRunning {
			w.Errorf("pod %s on node %s is %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase)
		}
		out = append(out, pod.Spec.NodeName)
	}
	slices.Sort(out)
	return out
}

func (w *world) want(nodes ...string) {
	w.Helper()
	if got := w.where(); !slices.Equal(got, nodes) {
		w.Errorf("pods are on %q, want %q", got, nodes)
	}
}

func node(name string, cpu string, taints ...corev1.Taint) *corev1.Node {
	size := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{Taints: taints}, Status: corev1.NodeStatus{Capacity: size, Allocatable: size},
	}
}

func template(cpu string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}
}

func deployment(replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: named("web"), Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(), Template: template("1")}}
}

// TestPodsWaitForNodes: pods without a place are marked unschedulable, and are bound when there is a node; those of a node that is deleted are
// replaced.
func TestPodsWaitForNodes(t *testing.T) {
	w := newWorld(t)
	w.create(deployment(3))
	w.want("", "", "")
	for _, pod := range list[corev1.Pod](w) {
		if c := pod.Status.Conditions; len(c) != 1 || c[0].Type != corev1.PodScheduled || c[0].Reason != corev1.PodReasonUnschedulable {
			t.Errorf("pod %s has the conditions %v", pod.Name, c)
		}
	}
	w.create(node("one", "2"))
	w.want("", "one", "one")
	w.create(node("two", "4"))
	w.want("one", "one", "two")
	if err := w.view.Delete(node("one", "2"), nil); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want("two", "two", "two")
	if d := list[appsv1.Deployment](w)[0]; d.Status.AvailableReplicas != 3 || d.Status.ObservedGeneration != d.Generation {
		t.Errorf("status %+v", d.Status)
	}
}

// TestRollout: a new template replaces all pods, and only one ReplicaSet keeps pods.
func TestRollout(t *testing.T) {
	w := newWorld(t)
	w.create(node("one", "10"), deployment(4))
	before := map[types.UID]bool{}
	for _, pod := range list[corev1.Pod](w) {
		before[pod.UID] = true
	}
	change(w, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "j" })
	w.want("one", "one", "one", "one")
	for _, pod := range list[corev1.Pod](w) {
		if before[pod.UID] || pod.Spec.Containers[0].Image != "j" {
			t.Errorf("pod %s has the image %s", pod.Name, pod.Spec.Containers[0].Image)
		}
	}
	change(w, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](1) })
	w.want("one")
	if sets := list[appsv1.ReplicaSet](w); len(sets) != 2 {
		t.Errorf("%d ReplicaSets", len(sets))
	}
}

// revisions are the revision, the earlier revisions and the change cause of each ReplicaSet, by image.
func revisions(w *world) map[string][3]string {
	w.Helper()
	out := map[string][3]string{}
	for _, s := range list[appsv1.ReplicaSet](w) {
		out[s.Spec.Template.Spec.Containers[0].Image] = [3]string{
			s.Annotations["deployment.kubernetes.io/revision"], s.Annotations["deployment.kubernetes.io/revision-history"], s.Annotations["kubernetes.io/change-cause"],
		}
	}
	return out
}

// TestRevisions: kubectl rollout history and undo find the templates of a Deployment by the revisions of its ReplicaSets. What undo does is
// to put back the template of an earlier one.
func TestRevisions(t *testing.T) {
	w := newWorld(t)
	first := deployment(2)
	first.Annotations = map[string]string{"kubernetes.io/change-cause": "first", corev1.LastAppliedConfigAnnotation: "{}"}
	first.Spec.RevisionHistoryLimit = ptr.To[int32](1)
	w.create(node("one", "10"), first)
	rollOut := func(image, cause string) {
		t.Helper()
		change(w, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image, d.Annotations["kubernetes.io/change-cause"] = image, cause
		})
	}
	want := func(revision string, sets map[string][3]string) {
		t.Helper()
		if got := revisions(w); !maps.Equal(got, sets) {
			t.Errorf("ReplicaSets %q, want %q", got, sets)
		}
		if got := list[appsv1.Deployment](w)[0].Annotations["deployment.kubernetes.io/revision"]; got != revision {
			t.Errorf("the Deployment is at revision %q, want %q", got, revision)
		}
	}
	want("1", map[string][3]string{"i": {"1", "", "first"}})
	rollOut("j", "second")
	want("2", map[string][3]string{"i": {"1", "", "first"}, "j": {"2", "", "second"}})
	rollOut("i", "undo")
	want("3", map[string][3]string{"i": {"3", "1", "undo"}, "j": {"2", "", "second"}})
	w.want("one", "one")
	// The limit keeps one ReplicaSet besides the current one: that of the highest revision, although it is not the newest.
	rollOut("k", "third")
	want("4", map[string][3]string{"i": {"3", "1", "undo"}, "k": {"4", "", "third"}})
	for _, s := range list[appsv1.ReplicaSet](w) {
		if _, copied := s.Annotations[corev1.LastAppliedConfigAnnotation]; copied {
			t.Errorf("ReplicaSet %s has the applied configuration of the Deployment", s.Name)
		}
	}
	change(w, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](3) })
	want("4", map[string][3]string{"i": {"3", "1", "undo"}, "k": {"4", "", "third"}})
}

// patched is a StatefulSet or DaemonSet with the patch of one of its revisions, as kubectl rollout undo applies it.
func patched[T any](w *world, name string, set *T, image string) *T {
	w.Helper()
	for _, r := range list[appsv1.ControllerRevision](w) {
		if metav1.GetControllerOf(r).Name != name || !strings.Contains(string(r.Data.Raw), fmt.Sprintf(`"image":%q`, image)) {
			continue
		}
		before, err := json.Marshal(set)
		if err != nil {
			w.Fatal(err)
		}
		after, err := strategicpatch.StrategicMergePatch(before, r.Data.Raw, new(T))
		if err != nil {
			w.Fatal(err)
		}
		out := new(T)
		if err := json.Unmarshal(after, out); err != nil {
			w.Fatal(err)
		}
		return out
	}
	w.Fatalf("no revision of %s has the image %q", name, image)
	return nil
}

// TestControllerRevisions: kubectl rollout history and undo find the templates of StatefulSets and DaemonSets as ControllerRevisions.
func TestControllerRevisions(t *testing.T) {
	w := newWorld(t)
	two := template("1")
	two.Labels["set"] = "db"
	w.create(node("one", "10"),
		&appsv1.DaemonSet{ObjectMeta: named("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector(), Template: template("1"), RevisionHistoryLimit: ptr.To[int32](1)}},
		&appsv1.StatefulSet{ObjectMeta: named("db"), Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: two.Labels}, Template: two, RevisionHistoryLimit: ptr.To[int32](1),
		}})
	image := func(template *corev1.PodTemplateSpec, image string) { template.Spec.Containers[0].Image = image }
	// want compares the revisions of both sets, which are equal: the number of each image.
	want := func(revisions map[string]int64) {
		t.Helper()
		for _, owner := range []string{"agent", "db"} {
			got := map[string]int64{}
			for _, r := range list[appsv1.ControllerRevision](w) {
				if metav1.GetControllerOf(r).Name == owner {
					_, after, _ := strings.Cut(string(r.Data.Raw), `"image":"`)
					got[after[:1]] = r.Revision
				}
			}
			if !maps.Equal(got, revisions) {
				t.Errorf("revisions of %s: %v, want %v", owner, got, revisions)
			}
		}
	}
	want(map[string]int64{"i": 1})
	for _, next := range []string{"j", "k"} {
		change(w, func(s *appsv1.DaemonSet) { image(&s.Spec.Template, next) })
		change(w, func(s *appsv1.StatefulSet) { image(&s.Spec.Template, next) })
	}
	want(map[string]int64{"j": 2, "k": 3}) // one besides the current one
	change(w, func(s *appsv1.DaemonSet) { *s = *patched(w, "agent", s, "j") })
	change(w, func(s *appsv1.StatefulSet) { *s = *patched(w, "db", s, "j") })
	want(map[string]int64{"k": 3, "j": 4})
	for _, pod := range list[corev1.Pod](w) {
		if pod.Spec.Containers[0].Image != "j" {
			t.Errorf("pod %s has the image %s, want j", pod.Name, pod.Spec.Containers[0].Image)
		}
	}
	status := list[appsv1.StatefulSet](w)[0].Status
	if status.CurrentReplicas != 2 || status.UpdatedReplicas != 2 || status.CurrentRevision != status.UpdateRevision {
		t.Errorf("status of the StatefulSet: %+v", status)
	}
}

// TestStatefulSet: pods come in their order and keep their names.
func TestStatefulSet(t *testing.T) {
	w := newWorld(t)
	w.create(node("one", "2"), &appsv1.StatefulSet{
		ObjectMeta: named("db"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), Selector: selector(), Template: template("1"), ServiceName: "db"},
	})
	w.want("", "one", "one") // the third one waits for a node; a fourth one would not exist yet
	w.create(node("two", "1"))
	names := []string{}
	for _, pod := range list[corev1.Pod](w) {
		names = append(names, pod.Name+" on "+pod.Spec.NodeName)
	}
	if want := []string{"db-0 on one", "db-1 on one", "db-2 on two"}; !slices.Equal(names, want) {
		t.Errorf("pods %q, want %q", names, want)
	}
	change(w, func(s *appsv1.StatefulSet) { s.Spec.Replicas = ptr.To[int32](1) })
	w.want("one")
}

// TestDaemonSet: a pod for each node whose taints it tolerates.
func TestDaemonSet(t *testing.T) {
	w := newWorld(t)
	w.create(&appsv1.DaemonSet{ObjectMeta: named("agent"), Spec: appsv1.DaemonSetSpec{Selector: selector(), Template: template("1")}}, node("one", "2"))
	w.create(node("two", "2"), node("own", "2", corev1.Taint{Key: "own", Effect: corev1.TaintEffectNoSchedule}))
	w.want("one", "two")
	change(w, func(s *appsv1.DaemonSet) { s.Spec.Template.Spec.Containers[0].Image = "j" })
	w.want("one", "two")
	for _, pod := range list[corev1.Pod](w) {
		if pod.Spec.Containers[0].Image != "j" {
			t.Errorf("pod %s has the old image", pod.Name)
		}
	}
}

// TestJob: two of three pods at a time, each for a second.
func TestJob(t *testing.T) {
	w := newWorld(t)
	job := &batchv1.Job{ObjectMeta: named("work"), Spec: batchv1.JobSpec{Completions: ptr.To[int32](3), Parallelism: ptr.To[int32](2), Template: template("1")}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.create(node("one", "10"), job)
	w.want("one", "one")
	for range 2 {
		w.now = w.now.Add(time.Second)
		w.settle()
	}
	got := list[batchv1.Job](w)[0].Status
	if got.Succeeded != 3 || got.Active != 0 || got.CompletionTime == nil {
		t.Errorf("status %+v", got)
	}
}

// TestBudget: evictions stop at the budget, and go on when the pod is replaced.
func TestBudget(t *testing.T) {
	w := newWorld(t)
	w.create(node("one", "2"), deployment(2), &policyv1.PodDisruptionBudget{
		ObjectMeta: named("web"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector(), MaxUnavailable: ptr.To(intstr.FromInt32(1))},
	})
	status := func() policyv1.PodDisruptionBudgetStatus { return list[policyv1.PodDisruptionBudget](w)[0].Status }
	if s := status(); s.DisruptionsAllowed != 1 || s.ExpectedPods != 2 || s.CurrentHealthy != 2 || s.DesiredHealthy != 1 {
		t.Errorf("status %+v", s)
	}
	change(w, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	if err := w.view.Delete(list[corev1.Pod](w)[0], nil); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want("", "one")
	if s := status(); s.DisruptionsAllowed != 0 || s.CurrentHealthy != 1 {
		t.Errorf("with one pod running, the status is %+v", s)
	}
	change(w, func(n *corev1.Node) { n.Spec.Unschedulable = false })
	if s := status(); s.DisruptionsAllowed != 1 {
		t.Errorf("with both pods running, the status is %+v", s)
	}
}

// TestUnhealthyNode: the status of a node with the annotation is left alone, and its taint follows it.
func TestUnhealthyNode(t *testing.T) {
	w := newWorld(t)
	w.create(node("one", "2"))
	if n := list[corev1.Node](w)[0]; len(n.Spec.Taints) != 0 {
		t.Errorf("a node that is ready has the taints %v", n.Spec.Taints)
	}
	change(w, func(n *corev1.Node) { n.Annotations = map[string]string{kubelet.HandsOff: "true"} })
	n := list[corev1.Node](w)[0].DeepCopy()
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].Status = corev1.ConditionFalse
	}
	if err := w.view.UpdateStatus(n); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if n := list[corev1.Node](w)[0]; len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != corev1.TaintNodeNotReady {
		t.Errorf("a node that is not ready has the taints %v", n.Spec.Taints)
	}
	w.create(deployment(1))
	w.want("")
}
