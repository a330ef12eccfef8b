// Package judge decides whether the answers of the engine are right, with kube-scheduler itself as the authority on what a pod may do.
//
// A plan is materialized: every NodeClaim becomes a node with the labels that a launch would give it, for a random one of all the instance
// types and offerings that it keeps, and its DaemonSet pods. Then its pods are bound one by one through the filters of kube-scheduler, in
// many orders. The plan is wrong if no order binds them all. A refusal is wrong if the pod could be bound in the end, on a node that
// exists or on a new one of any pool, instance type and offering within the limits. A NodeClaim is wrong if the API server would refuse it.
package judge

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/oracle/kubescheduler"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

// Judge judges answers about one cloud, for one goroutine.
type Judge struct {
	reader    *manifest.Reader
	cloud     cloud.Cloud
	scheduler *kubescheduler.Scheduler
	// beside are nodes to be imagined while a pod is bound; nil for none.
	beside func(*corev1.Pod) []*corev1.Node
	// Tally counts what was judged.
	Tally Tally
}

// Tally counts what was judged.
type Tally struct {
	Problems, Pods, Plans, Refusals, Commands int
	// Apart are sets of commands that hold one after the other, but not together, because of topology spread constraints.
	Apart int
}

// Add adds another tally.
func (t *Tally) Add(more Tally) {
	t.Problems += more.Problems
	t.Pods += more.Pods
	t.Plans += more.Plans
	t.Refusals += more.Refusals
	t.Commands += more.Commands
	t.Apart += more.Apart
}

// String is the tally as a sentence.
func (t Tally) String() string {
	text := fmt.Sprintf("%d problems, %d pods, %d plans judged, %d refusals judged, %d commands judged", t.Problems, t.Pods, t.Plans, t.Refusals, t.Commands)
	if t.Apart > 0 {
		text += fmt.Sprintf(" (%d times some hold one after the other only, because of spread constraints)", t.Apart)
	}
	return text
}

// Failure is a wrong answer.
type Failure struct {
	// Kind tells failures apart: shrinking keeps it.
	Kind Kind
	// Text says what is wrong.
	Text string
	// Plugins are those of kube-scheduler that refuse pods, sorted; none for other failures.
	Plugins []string
	// Reasons are those for which the engine refuses a pod, sorted; none for other failures.
	Reasons []unschedulable.Code
	// Workloads are those of the pods, sorted; none for failures that are not about pods.
	Workloads []string
}

// Same reports whether another failure has the same cause, as far as it shows: it is of the same sort, with no other plugins, reasons and
// workloads. It may have fewer.
func (f Failure) Same(other Failure) bool {
	return f.Kind == other.Kind && some(f.Plugins, other.Plugins) && some(f.Reasons, other.Reasons) && some(f.Workloads, other.Workloads)
}

// some reports whether all values of part are in whole, and there are some if whole has any.
func some[T comparable](whole, part []T) bool {
	return (len(whole) == 0) == (len(part) == 0) && !slices.ContainsFunc(part, func(value T) bool { return !slices.Contains(whole, value) })
}

// workloadOf is what a pod belongs to: the pods of a smaller problem may have other names.
func workloadOf(pod *corev1.Pod) string {
	name := pod.Name
	if owner := metav1.GetControllerOf(pod); owner != nil {
		name = owner.Kind + " " + owner.Name
	}
	return pod.Namespace + "/" + name
}

// only reports whether one plugin refuses all pods.
func (f Failure) only(plugin string) bool { return slices.Equal(f.Plugins, []string{plugin}) }

// Kind is what sort of answer is wrong.
type Kind string

// The kinds of failure.
const (
	Unreadable    Kind = "input"          // the generator wrote a manifest that the product does not read
	Unbound       Kind = "binding"        // no order binds the pods of the plan
	Refused       Kind = "refusal"        // a refused pod could run
	Invalid       Kind = "claim"          // the API server would refuse the NodeClaim
	Panicked      Kind = "panic"          // the engine panicked
	Unlaunched    Kind = "launch"         // no offering satisfies the NodeClaim
	Overspent     Kind = "price"          // a command does not save what it says
	OverBudget    Kind = "budget"         // commands disrupt more nodes than allowed
	Reordered     Kind = "order"          // the order of the objects changes the plan
	Overlimit     Kind = "limits"         // a pool may grow beyond its limits
	Forgotten     Kind = "forgotten"      // a pod is in no answer, or in two
	Apart         Kind = "apart"          // commands hold one after the other, and not together
	MoreExpensive Kind = "more expensive" // upstream's plan for the same pods costs less
	SavesLess     Kind = "saves less"     // upstream's multi-node consolidation saves more
	Protected     Kind = "protected"      // a command disrupts a node that must be left alone
)

// New builds a judge. It ends with ctx.
func New(ctx context.Context, reader *manifest.Reader, c cloud.Cloud) (*Judge, error) {
	scheduler, err := kubescheduler.New(ctx)
	return &Judge{reader: reader, cloud: c, scheduler: scheduler}, err
}

// question is a problem, read, with the answer of the engine.
type question struct {
	Problem
	pass       int
	objects    []client.Object
	pods       map[string]*corev1.Pod // by UID
	bound      []*corev1.Pod
	nodes      []*corev1.Node
	daemons    []*corev1.Pod // one for each DaemonSet, on no node
	pools      map[string]*v1.NodePool
	types      map[string][]*cloud.InstanceType
	simulation simulation.Result
	offered    map[string][]offered // by pool and custom labels
}

// Plan answers what the engine plans for a problem, as text: NodeClaims and placements, or the commands of the first passes.
func (j *Judge) Plan(p Problem) (string, error) {
	objects, err := p.objects(j.reader, j.cloud)
	if err != nil {
		return "", err
	}
	if p.Disrupts() {
		return j.commands(p, objects)
	}
	result, err := simulation.Run(context.Background(), objects, j.cloud, p.settings())
	return result.Text(), err
}

// passes is how often the engine is asked about one problem, each time with what it planned before in place. A pod may wait for a
// launch that decides a zone; it may not wait for ever.
const passes = 6

// Judge judges the plans for a problem, or the commands if the problem is about disruption.
func (j *Judge) Judge(p Problem) (failures []Failure) {
	defer func() {
		if r := recover(); r != nil {
			failures = append(failures, Failure{Kind: Panicked, Text: fmt.Sprint(r)})
		}
	}()
	objects, err := p.objects(j.reader, j.cloud)
	if err != nil {
		return []Failure{{Kind: Unreadable, Text: err.Error()}}
	}
	j.Tally.Problems++
	if p.Disrupts() {
		return j.disruption(p, objects)
	}
	return j.provisioning(p, objects)
}

// provisioning judges the plans of consecutive passes.
func (j *Judge) provisioning(p Problem, objects []client.Object) (failures []Failure) {
	for pass := range passes {
		q, err := j.ask(p, objects, pass)
		if err != nil {
			return []Failure{{Kind: Unreadable, Text: err.Error()}}
		}
		if pass == 0 {
			j.Tally.Pods += len(q.pods)
		}
		failures = append(q.accounting(), j.claims(q)...)
		if len(failures) > 0 {
			return failures
		}
		l, failures := j.bindings(q)
		if len(failures) > 0 {
			return failures
		}
		plan := q.simulation.Plan
		if len(plan.Unschedulable) == 0 {
			return nil
		}
		if len(plan.NodeClaims)+len(plan.Placements) == 0 {
			return j.refusals(q)
		}
		drivers, err := j.scheduler.CSINodes(l.nodes[len(q.nodes):])
		if err != nil {
			return []Failure{{Kind: Unreadable, Text: err.Error()}}
		}
		objects = q.after(l, j.scheduler.Pods(), drivers)
	}
	return nil
}

// ask has the engine answer a problem.
func (j *Judge) ask(p Problem, objects []client.Object, pass int) (*question, error) {
	result, err := simulation.Run(context.Background(), objects, j.cloud, p.settings())
	if err != nil {
		return nil, err
	}
	return j.question(p, objects, pass, result)
}

// question collects what judging an answer needs.
func (j *Judge) question(p Problem, objects []client.Object, pass int, result simulation.Result) (*question, error) {
	q := &question{
		Problem: p, pass: pass, objects: objects, simulation: result,
		pods: map[string]*corev1.Pod{}, pools: map[string]*v1.NodePool{}, types: map[string][]*cloud.InstanceType{}, offered: map[string][]offered{},
	}
	q.sort()
	var err error
	for name, pool := range q.pools {
		if slices.ContainsFunc(result.Skipped, func(s simulation.SkippedPool) bool { return s.Name == name }) {
			continue
		}
		if q.types[name], err = j.cloud.Provider.InstanceTypes(context.Background(), pool); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// sort files the objects by kind.
func (q *question) sort() {
	for _, o := range q.objects {
		switch o := o.(type) {
		case *corev1.Pod:
			o = check.Admit(o)
			q.pods[string(o.UID)] = o
			if o.Spec.NodeName != "" {
				q.bound = append(q.bound, o)
			}
		case *corev1.Node:
			if o.Labels[corev1.LabelHostname] == "" { // the kubelet sets it
				o = o.DeepCopy()
				metav1.SetMetaDataLabel(&o.ObjectMeta, corev1.LabelHostname, o.Name)
			}
			q.nodes = append(q.nodes, o)
		case *appsv1.DaemonSet:
			q.daemons = append(q.daemons, newDaemon(o))
		case *v1.NodePool:
			q.pools[o.Name] = o
		}
	}
}

// after are the objects of the cluster once a plan is carried out: with the pods that run, and the CSI drivers of new nodes.
func (q *question) after(l launch, running []*corev1.Pod, drivers []*storagev1.CSINode) []client.Object {
	bound := map[types.UID]bool{}
	var out []client.Object
	for _, pod := range running {
		bound[pod.UID] = true
		if original, ok := q.pods[string(pod.UID)]; ok && original.Spec.NodeName != "" {
			pod = original
		}
		pod.Status.Phase, pod.Status.Conditions = corev1.PodRunning, nil
		out = append(out, pod)
	}
	for _, o := range q.objects {
		if !bound[o.GetUID()] {
			out = append(out, o)
		}
	}
	for i, node := range l.nodes[len(q.nodes):] {
		out = append(out, node, l.claims[i])
	}
	for _, d := range drivers {
		out = append(out, d)
	}
	return out
}

// accounting checks that each pending pod is in one answer.
func (q *question) accounting() (failures []Failure) {
	named := map[string]int{}
	count := func(pods []*model.Pod) {
		for _, p := range pods {
			named[p.UID]++
		}
	}
	plan := q.simulation.Plan
	for _, c := range plan.NodeClaims {
		count(c.Pods)
	}
	for _, at := range plan.Placements {
		count(at.Pods)
	}
	for _, u := range plan.Unschedulable {
		count(u.Pods)
	}
	count(plan.Deferred)
	count(plan.Undecided)
	count(q.simulation.Rejected)
	for _, uid := range slices.Sorted(maps.Keys(q.pods)) {
		pod := q.pods[uid]
		if n := named[uid]; pod.Spec.NodeName == "" && n != 1 || pod.Spec.NodeName != "" && n != 0 {
			failures = append(failures, Failure{Kind: Forgotten, Text: fmt.Sprintf("pod %s is in %d answers", pod.Name, n)})
		}
	}
	return failures
}

// podsOf are the API objects of pods of the plan.
func (q *question) podsOf(list []*model.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, len(list))
	for _, p := range list {
		out = append(out, q.pods[p.UID])
	}
	return out
}
