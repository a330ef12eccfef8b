package e2e

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	overlayv1 "github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariofile"
	"github.com/karpenter-anew/karpenter/test/scenario/scenariorun"
)

// attempts is how often a scenario is run when its preconditions fail: the controller saw the pods in several batches, so that no plan was
// about all of them, or kube-scheduler bound pods otherwise. It does not know the plan, and when the pods that it binds elsewhere leave no
// capacity for others, the cluster cannot match the plan.
const attempts = 5

// scenarioPatience is how long one attempt waits for the cluster to match the plan.
const scenarioPatience = 40 * time.Second

// TestScenarios applies every scenario to a cluster and compares the result with the plan of the scenario.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenarios, err := scenariofile.Load("../scenario/testdata")
	if err != nil {
		t.Fatal(err)
	}
	reader, minor := scenariorun.Reader(t), kubernetesMinor(t)
	// Scenarios with the same settings share a controller.
	slices.SortStableFunc(scenarios, func(a, b scenariofile.Scenario) int { return slices.Compare(scenarioFlags(a), scenarioFlags(b)) })
	for _, s := range scenarios {
		if s.Options.EngineOnly != "" || s.Options.Kubernetes > minor {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			w := enter(t)
			for attempt := 1; ; attempt++ {
				w.shared = w.startShared(scenarioFlags(s))
				obstacle, excuse := w.runScenario(reader, s)
				if obstacle == "" {
					return
				}
				if excuse == "" || attempt == attempts {
					t.Fatalf("attempt %d: waited %s for the cluster to match the plan; last seen: %s; pods: %s", attempt, scenarioPatience, obstacle, w.whereabouts())
				}
				t.Logf("attempt %d: %s: %s", attempt, excuse, obstacle)
			}
		})
	}
}

// scenarioFlags are the flags of the controller for the options of a scenario.
func scenarioFlags(s scenariofile.Scenario) []string {
	var flags []string
	if s.Options.Catalog != "" {
		flags = append(flags, "--catalog="+s.Options.Catalog)
	}
	if s.Options.PreferencePolicy != "" {
		flags = append(flags, "--preference-policy="+s.Options.PreferencePolicy)
	}
	if slices.ContainsFunc(s.Inputs, func(i scenariofile.Input) bool { return bytes.Contains(i.YAML, []byte("kind: NodeOverlay")) }) {
		flags = append(flags, "--feature-gates=NodeOverlay=true")
	}
	if s.Options.BestEffortMinValues {
		flags = append(flags, "--min-values-policy=BestEffort")
	}
	if s.Options.AllocateDevices {
		flags = append(flags, "--ignore-dra-requests=false")
	}
	if s.Options.SchedulerConfig != "" {
		flags = append(flags, "--scheduler-config="+s.Options.SchedulerConfig)
	}
	return flags
}

// sharedController is a controller that runs several scenarios. Between them it is frozen, and the cluster is emptied meanwhile: its
// memory of the last scenario must not matter in the next.
type sharedController struct {
	*controller
	flags []string
	begin int64 // the offset in the log at which it begins to see the pods of the current scenario
}

// end kills the controller. A test could not handle an error.
func (s *sharedController) end() { _ = s.Kill() }

// startShared returns a controller with these flags in an empty cluster: the running one, if its flags are the same.
func (w *harness) startShared(flags []string) *sharedController {
	w.t.Helper()
	s := w.shared
	if s != nil && (s.Ended() || !slices.Equal(s.flags, flags)) {
		s.end()
		s = nil
	}
	if s != nil {
		w.must(s.freeze())
	}
	w.wipe()
	if s != nil {
		w.must(s.thaw())
	} else {
		p, err := w.startController(quick(flags...)...)
		w.must(err)
		s = &sharedController{controller: p, flags: flags}
	}
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("the last lines of the controller:\n%s", s.tail())
			s.end() // the next scenario gets a new one
		}
	})
	w.awaitLog(s.controller, "elected leader")
	return s
}

// runScenario applies the scenario, with its pods all at once, and waits until the cluster matches the plan. If it does not, obstacle is the
// difference, and excuse a cause outside of the controller, if there is one.
func (w *harness) runScenario(reader *manifest.Reader, s scenariofile.Scenario) (obstacle, excuse string) {
	w.t.Helper()
	if s.Options.MaxInstanceTypes != 0 {
		w.t.Fatal("max-instance-types is no setting of the controller: the scenario needs \"only: engine, because …\"")
	}
	plan, err := readPlan(s.Plan)
	w.must(err)
	objects := scenariorun.Objects(w.t, reader, s)
	plan.bound = boundWorkloads(objects)
	slices.SortStableFunc(objects, func(a, b client.Object) int { return cmp.Compare(plan.phase(a), plan.phase(b)) })
	from := func(phase int) int {
		i, _ := slices.BinarySearchFunc(objects, phase, func(o client.Object, phase int) int { return cmp.Compare(plan.phase(o), phase) })
		return i
	}
	bound, daemons, first := from(phaseBound), from(phaseDaemonSets), from(phasePods)
	for _, o := range objects[:bound] {
		w.createForScenario(o)
	}
	w.awaitNodesTakePods(objects[:bound])
	for _, o := range objects[bound:daemons] {
		w.createForScenario(o)
	}
	w.awaitBound(plan)
	for _, o := range objects[daemons:first] {
		w.createForScenario(o)
	}
	w.awaitPrerequisites(objects[:first], plan)
	w.awaitOverlays(objects[:first], plan)
	// Pods are created one by one, but a plan is about all of them. A controller that is frozen meanwhile sees them at once.
	w.must(w.shared.freeze())
	for _, o := range objects[first:] {
		w.createForScenario(o)
	}
	w.await("kube-scheduler has tried all pods", patience, func() string { return w.unseen(plan) })
	w.shared.begin = w.shared.logSize() // before that it may still have planned for pods of the last scenario
	w.must(w.shared.thaw())
	types := w.prices(s.Options.Catalog, objects)
	// The control plane and time are real: a test can only wait for the state of objects.
	err = wait.PollUntilContextTimeout(w.ctx, pollPeriod, scenarioPatience, true, func(context.Context) (bool, error) {
		obstacle = w.differs(plan, types)
		return obstacle == "", nil
	})
	switch {
	case err == nil:
		return "", ""
	case plan.compareClaims(w.firstClaims(), types) == "" && w.placedOtherwise(plan):
		excuse = "kube-scheduler bound pods otherwise"
	case w.shared.firstPassPods(w.shared.begin) < plan.toPlace():
		excuse = "the controller did not see all pods at once"
	}
	return obstacle, excuse
}

// The order in which the objects of a scenario are created. Pods that a scenario binds may keep pods of DaemonSets off a node, and unscheduled
// pods come last.
const (
	phaseBase = iota
	phaseBound
	phaseDaemonSets
	phasePods
)

func (p plan) phase(o client.Object) int {
	switch o.GetObjectKind().GroupVersionKind().Kind {
	case "Pod", "Deployment", "ReplicaSet", "StatefulSet", "Job":
		if p.bound[simulation.Owner{Namespace: o.GetNamespace(), Name: o.GetName()}.String()] > 0 {
			return phaseBound
		}
		return phasePods
	case "DaemonSet":
		return phaseDaemonSets
	}
	return phaseBase
}

// boundWorkloads counts the pods of workloads that the scenario itself puts on a node. They are not part of a plan.
func boundWorkloads(objects []client.Object) map[string]int {
	out := map[string]int{}
	for _, o := range manifest.Expand(objects) {
		if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			out[simulation.Workload(pod)]++
		}
	}
	return out
}

// createForScenario creates an object of a scenario.
func (w *harness) createForScenario(o client.Object) {
	w.t.Helper()
	o, _ = o.DeepCopyObject().(client.Object)
	o.SetUID("")
	o.SetCreationTimestamp(metav1.Time{})
	o.SetResourceVersion("")
	switch o := o.(type) {
	case *v1.NodePool:
		// Scenarios are about launches; the removal of empty nodes is tested elsewhere.
		o.Spec.Disruption.ConsolidateAfter = v1.NillableDuration{}
		w.create(o)
	case *appsv1.StatefulSet:
		// A plan is about all pods; those of an ordered set come only when the one before runs.
		o.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		w.create(o)
	case *v1alpha1.KWOKNodeClass:
		conditions := o.Status.Conditions
		w.create(o)
		if len(conditions) > 0 {
			o.Status.Conditions = conditions
			w.must(w.client.Status().Update(w.ctx, o))
		}
	default:
		w.create(o)
	}
}

// awaitNodesTakePods waits until the nodes among objects take pods. The simulated kubelet may miss a pod that is bound to its node before it has seen the
// node.
func (w *harness) awaitNodesTakePods(objects []client.Object) {
	w.t.Helper()
	for _, o := range objects {
		node, ok := o.(*corev1.Node)
		if !ok {
			continue
		}
		live := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
		w.await(fmt.Sprintf("node %q takes pods", node.Name), patience, func() string {
			w.get(live)
			for _, taint := range live.Spec.Taints {
				if taint.Key == corev1.TaintNodeNotReady {
					return "it has the taint " + taint.Key
				}
			}
			return ""
		})
	}
}

// awaitBound waits until the pods run that the scenario binds.
func (w *harness) awaitBound(plan plan) {
	w.t.Helper()
	w.await("the bound pods run", patience, func() string {
		missing := maps.Clone(plan.bound)
		for _, pod := range w.pods() {
			if pod.Status.Phase == corev1.PodRunning {
				missing[simulation.Workload(&pod)]--
			}
		}
		maps.DeleteFunc(missing, func(_ string, n int) bool { return n == 0 })
		if len(missing) > 0 {
			return fmt.Sprintf("missing %v", missing)
		}
		return ""
	})
}

// awaitOverlays waits until overlays are validated as planned.
func (w *harness) awaitOverlays(objects []client.Object, plan plan) {
	w.t.Helper()
	for _, o := range objects {
		if o, ok := o.(*overlayv1.NodeOverlay); ok {
			w.await(fmt.Sprintf("nodeoverlay %q is validated as planned", o.Name), patience, func() string { return w.validatedOtherwise(o.Name, plan) })
		}
	}
}

// awaitPrerequisites waits until pools are ready or refused as planned, and claims are bound.
func (w *harness) awaitPrerequisites(objects []client.Object, plan plan) {
	w.t.Helper()
	bound := boundClaims(objects)
	for _, o := range objects {
		switch o := o.(type) {
		case *v1.NodePool:
			live := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: o.Name}}
			// A pool is not ready either until the controller has seen its node class: the plan tells which of the two is to stay.
			// Static pools are skipped as well, but are ready.
			want := metav1.ConditionTrue
			if o.Spec.Replicas == nil && slices.Contains(plan.skipped, o.Name) {
				want = metav1.ConditionFalse
			}
			w.await(fmt.Sprintf("nodepool %q has Ready=%s", o.Name, want), patience, func() string {
				if w.get(live); condition.Status(live, v1.ConditionTypeReady) != want {
					return fmt.Sprintf("conditions %v", live.Status.Conditions)
				}
				return ""
			})
		case *corev1.PersistentVolumeClaim:
			if !bound[o.Name] {
				continue
			}
			live := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace}}
			w.await(fmt.Sprintf("claim %q is bound", o.Name), patience, func() string {
				if w.get(live); live.Status.Phase != corev1.ClaimBound {
					return fmt.Sprintf("phase %q", live.Status.Phase)
				}
				return ""
			})
		}
	}
}

// validatedOtherwise describes how the validation of an overlay differs from the plan.
func (w *harness) validatedOtherwise(name string, plan plan) string {
	live := &overlayv1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.get(live)
	want, got := plan.leftOut[name], meta.FindStatusCondition(live.Status.Conditions, overlayv1.ConditionTypeValidationSucceeded)
	if got == nil || got.Status == metav1.ConditionUnknown || got.Message != want || (got.Status == metav1.ConditionTrue) != (want == "") {
		return fmt.Sprintf("nodeoverlay %q has the conditions %s", name, conditions(live))
	}
	return ""
}

// boundClaims are the names of the volume claims for which a volume is described.
func boundClaims(objects []client.Object) map[string]bool {
	out := map[string]bool{}
	for _, o := range manifest.Expand(objects) {
		if claim, ok := o.(*corev1.PersistentVolumeClaim); ok {
			out[claim.Name] = claim.Status.Phase == corev1.ClaimBound
		}
	}
	return out
}

// unseen names a pod of the plan that does not exist yet, or that kube-scheduler has not tried yet.
func (w *harness) unseen(plan plan) string {
	want := plan.pods()
	for _, pod := range w.plannedPods(plan) {
		want[simulation.Workload(&pod)]--
		if pod.Spec.NodeName == "" && !unschedulable(&pod) {
			return fmt.Sprintf("kube-scheduler has not tried pod %q", pod.Name)
		}
	}
	maps.DeleteFunc(want, func(_ string, missing int) bool { return missing == 0 })
	if len(want) > 0 {
		return fmt.Sprintf("pods missing: %v", want)
	}
	return ""
}

// plannedPods are the pods of the plan.
func (w *harness) plannedPods(plan plan) []corev1.Pod {
	w.t.Helper()
	return slices.DeleteFunc(w.pods(), func(pod corev1.Pod) bool { return plan.bound[simulation.Workload(&pod)] > 0 })
}

// differs describes how the cluster differs from the plan.
func (w *harness) differs(plan plan, types map[string]prices) string {
	if obstacle := w.compareLaunches(plan, types); obstacle != "" {
		return obstacle
	}
	for _, name := range slices.Sorted(maps.Keys(plan.leftOut)) {
		if obstacle := w.validatedOtherwise(name, plan); obstacle != "" {
			return obstacle
		}
	}
	for _, name := range plan.tooLarge {
		namespace, name, _ := strings.Cut(name, "/")
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if w.get(set); len(w.events(set, "DaemonSetTooLarge")) == 0 {
			return fmt.Sprintf("daemonset %q has no event DaemonSetTooLarge", name)
		}
	}
	return w.comparePods(plan)
}

// compareLaunches describes how the launches differ from those of the plan. Of a plan with several nodes only the first pass counts:
// kube-scheduler may bind a pod to the node of another, and the node that the other then needs is launched later, and is no part of the plan.
func (w *harness) compareLaunches(plan plan, types map[string]prices) string {
	if len(plan.launches) > 1 {
		return plan.compareClaims(w.firstClaims(), types)
	}
	return plan.compareClaims(w.claims(), types)
}

// firstClaims are those of the first pass.
func (w *harness) firstClaims() []v1.NodeClaim {
	later := w.shared.launchedLater(w.shared.begin)
	return slices.DeleteFunc(w.claims(), func(c v1.NodeClaim) bool { return later[c.Name] })
}

// placedOtherwise reports whether the launched nodes run other pods than those for which they were launched.
func (w *harness) placedOtherwise(plan plan) bool {
	on := map[string]map[string]int{}
	for _, pod := range w.plannedPods(plan) {
		if on[pod.Spec.NodeName] == nil {
			on[pod.Spec.NodeName] = map[string]int{}
		}
		on[pod.Spec.NodeName][simulation.Workload(&pod)]++
	}
	var planned, found []string
	for _, l := range plan.launches {
		planned = append(planned, fmt.Sprint(l.pods)) // maps are printed in the order of their keys
	}
	for _, c := range w.firstClaims() {
		found = append(found, fmt.Sprint(on[c.Status.NodeName]))
	}
	slices.Sort(planned)
	slices.Sort(found)
	return !slices.Equal(planned, found)
}

// comparePods names a pod that is not where the plan puts it, or has no event that says why.
func (w *harness) comparePods(plan plan) string {
	running, waiting := map[string]int{}, map[string][]corev1.Pod{}
	for _, pod := range w.plannedPods(plan) {
		workload := simulation.Workload(&pod)
		switch {
		case pod.Spec.NodeName == "":
			waiting[workload] = append(waiting[workload], pod)
		case pod.Status.Phase == corev1.PodPending:
			return fmt.Sprintf("pod %q is bound and does not run yet", pod.Name)
		default: // a pod of a job may be over by now
			running[workload]++
		}
	}
	if !maps.Equal(running, plan.placed) {
		return fmt.Sprintf("pods that have a node: %v, planned: %v", running, plan.placed)
	}
	for _, v := range plan.refused {
		if obstacle := w.notExplained(v, waiting, false); obstacle != "" {
			return obstacle
		}
	}
	for _, v := range plan.ignored {
		if obstacle := w.notExplained(v, waiting, true); obstacle != "" {
			return obstacle
		}
	}
	return ""
}

// notExplained names pods without the event of their refusal. Pods that opt out of karpenter need none.
func (w *harness) notExplained(v refusal, waiting map[string][]corev1.Pod, maybeSilent bool) string {
	for workload, n := range v.pods {
		told := 0
		var heard []string
		for _, pod := range waiting[workload] {
			events := w.events(&pod, "FailedScheduling")
			if v.explains(events) || maybeSilent && len(events) == 0 {
				told++
			}
			heard = append(heard, events...)
		}
		if told < n {
			return fmt.Sprintf("%d of %d pods of %s have the event %q; their events are %q", told, n, workload, v.why, heard)
		}
	}
	return ""
}
