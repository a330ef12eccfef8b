package provisioning

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/core/unschedulable"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// creators is the number of concurrent creations of NodeClaims.
const creators = 32

// apply applies the plan: nominations and events first, because they are fast, then the NodeClaims.
func (p *Provisioner) apply(ctx context.Context, in input, plan solve.Plan) error {
	p.reportUnlaunchable(ctx, in, plan.Unlaunchable)
	p.reportOmittedDaemons(ctx, plan.OmittedDaemons)
	p.reportRefused(ctx, plan.Unschedulable)
	if len(plan.Deferred) > 0 {
		p.Log.Debug("waiting for a capacity reservation that other nodeclaims may give back", logfield.Pods(names(plan.Deferred)))
	}
	p.Metrics.Scheduler.UndecidedPods.Set(float64(len(plan.Undecided)))
	if len(plan.Undecided) > 0 {
		level := p.level(slog.LevelWarn, "undecided")
		p.Log.Log(ctx, level, "planning was stopped before all pods were considered, the next pass continues", logfield.Pods(names(plan.Undecided)))
	}
	p.reportZones(plan.Zones)
	refused, err := p.carryOut(ctx, in, plan)
	p.suspect(refused, in.problem.Pods)
	return err
}

// carryOut nominates nodes, publishes why pods fit nowhere, and creates the NodeClaims of a plan. It returns those that were refused.
func (p *Provisioner) carryOut(ctx context.Context, in input, plan solve.Plan) ([]refusal, error) {
	plan = withoutChangedGroups(p, plan, in.problem)
	p.nominate(plan.Placements)
	p.nominations.Note(plan.Placements)
	if len(plan.NodeClaims) > 0 {
		p.logLaunch(in.began, plan.NodeClaims)
	}
	created, errs, failed := p.createAll(ctx, in, plan)
	var refused []refusal
	for i, claim := range plan.NodeClaims {
		switch err := errs[i]; {
		case created[i] != "":
			for _, pod := range realPods(claim.Pods) {
				p.nominations[pod.UID] = created[i]
			}
		case isRefused(err):
			refused = append(refused, refusal{claim, err})
		case reportCapped(ctx, p, claim, err):
		case err != nil:
			failed = append(failed, fmt.Errorf("creating node claim, %w", err))
		}
	}
	recordPass(p, in, plan, created, errs)
	return refused, errors.Join(failed...)
}

// createAll creates the NodeClaims of a plan concurrently. It returns for each its name, or an empty name and the error, if any: those of
// groups that did not get all of theirs are deleted again, which may fail for other reasons.
func (p *Provisioner) createAll(ctx context.Context, in input, plan solve.Plan) (created []string, errs, failed []error) {
	claims := plan.NodeClaims
	created = make([]string, len(claims))
	usage := p.usage(claims)
	defer p.WriteGate.Begin()()
	errs = parallel.Times(len(claims), creators, func(i int) error {
		var err error
		created[i], err = p.create(ctx, in, claims[i], usage[claims[i].Pool])
		return err
	})
	return created, errs, settleGroups(ctx, p, in, plan, created)
}

// logLaunch logs the pods that need new nodes, with upstream's messages, and how long the pass has taken to decide so.
func (p *Provisioner) logLaunch(began time.Time, claims []solve.NodeClaim) {
	var first []*model.Pod
	count, all := 0, 0
	for _, c := range claims {
		pods := realPods(c.Pods)
		first = append(first, pods[:min(len(pods), maxListed-len(first))]...)
		count, all = count+len(pods), all+len(c.Pods)
	}
	if count > 0 {
		p.Log.Info("found provisionable pod(s)", logfield.Pods(listing(ids(first), count)), logfield.Duration(p.Clock.Since(began)))
	}
	p.Log.Info("computed new nodeclaim(s) to fit pod(s)", logfield.NodeClaimCount(len(claims)), logfield.PodCount(all))
}

// create creates one NodeClaim, which the next pass includes, and returns its name.
func (p *Provisioner) create(ctx context.Context, in input, c solve.NodeClaim, usage corev1.ResourceList) (created string, err error) {
	var current v1.NodePool
	if err := p.Client.Get(ctx, client.ObjectKey{Name: c.Pool}, &current); err != nil {
		return "", fmt.Errorf("getting current resource usage, %w", err)
	}
	if err := withinLimits(&current, usage); err != nil {
		return "", err
	}
	claim := p.Translator.NodeClaim(in.pools[c.Pool], c, defaultGracePeriod(p.Cloud))
	requests := logfield.Requests(claim.Spec.Resources.Requests)
	types := logfield.InstanceTypes(listing(c.InstanceTypes[:min(len(c.InstanceTypes), maxListed)], len(c.InstanceTypes)))
	err = p.Creations.NodeClaim(ctx, p.Client, claim, func(name string) {
		p.Planned.Put(name, planned(c.Pods)...)
		p.Log.Info("created nodeclaim", logfield.NodePool(c.Pool), logfield.NodeClaim(name), requests, types)
	})
	if err == nil || create.OutcomeUnknown(err) {
		p.Store.Created(claim, p.Clock.Now())
	}
	if err != nil {
		return "", err
	}
	if h := headroomOf(c.Pods); len(h) > 0 {
		p.Store.Buffers.KeepHeadroom(claim.Name, h)
	}
	relaxed := claim.Annotations[v1.NodeClaimMinValuesRelaxedAnnotationKey]
	p.Metrics.NodeClaims.Created.WithLabelValues("provisioned", c.Pool, relaxed).Inc()
	p.Books.Created(claim, "provisioned", "", podNames(c.Pods), ledger.NamesOf(c.InstanceTypes))
	for _, pod := range realPods(c.Pods) {
		p.Recorder.Publish(observe.Nominated(reference(pod), claim.Name, ""))
	}
	return claim.Name, nil
}

func defaultGracePeriod(c cloud.Cloud) *metav1.Duration {
	if c.DefaultTerminationGracePeriod == nil {
		return nil
	}
	return &metav1.Duration{Duration: *c.DefaultTerminationGracePeriod}
}

// usage is what the pools of the claims use now, summed once for the pass: the sum looks at every node of the cluster.
func (p *Provisioner) usage(claims []solve.NodeClaim) map[string]corev1.ResourceList {
	out := map[string]corev1.ResourceList{}
	for _, c := range claims {
		if _, known := out[c.Pool]; !known {
			out[c.Pool], _ = cluster.NewUsage(p.Store, p.Feed).PoolUsage(c.Pool)
		}
	}
	return out
}

// withinLimits is the last check before a launch: limits may have been lowered since the plan was computed. The plan already counts
// the launches of this pass.
func withinLimits(pool *v1.NodePool, usage corev1.ResourceList) error {
	name := pool.Spec.Limits.Exceeded(usage)
	if name == "" {
		return nil
	}
	limit, used := pool.Spec.Limits[name], usage[name]
	return fmt.Errorf("resource usage exceeds limit (limit=%s, resource-name=%s, usage=%s)", limit.AsDec(), name, used.AsDec())
}

// nominate protects the nodes that pods are expected on, and publishes events for the pods.
func (p *Provisioner) nominate(placements []solve.Placement) {
	until := p.Clock.Now().Add(p.Scheduling.NominationWindow())
	for _, placed := range placements {
		pods := realPods(placed.Pods)
		if len(pods) == 0 {
			continue
		}
		p.Store.Nominate(until, placed.Node.ID)
		if placed.Node.ClaimName != "" && !placed.Node.Initialized {
			p.Planned.Put(placed.Node.ClaimName, planned(pods)...)
		}
		for _, pod := range pods {
			p.Recorder.Publish(observe.Nominated(reference(pod), placed.Node.ClaimName, placed.Node.NodeName))
		}
	}
}

// repeatAfter is how long an unchanged message is logged at debug level only.
const repeatAfter = 5 * time.Minute

// level is the log level of a message that every pass repeats: the given level the first time, and debug until repeatAfter has
// passed. Otherwise pods that never fit would flood the log.
func (p *Provisioner) level(first slog.Level, about string) slog.Level {
	if _, said := p.logged.Get(about); said {
		return slog.LevelDebug
	}
	p.logged.Set(about, true)
	return first
}

// reportUnlaunchable publishes that nothing can be launched from a pool. Pods that fit another pool get no event about it.
func (p *Provisioner) reportUnlaunchable(ctx context.Context, in input, pools []solve.UnlaunchablePool) {
	for _, b := range pools {
		level := p.level(slog.LevelInfo, "unlaunchable "+b.Pool)
		p.Log.Log(ctx, level, "skipping nodepool, its requirements filtered out all instance types", logfield.NodePool(b.Pool), logfield.MinValues(b.MinValues))
		p.Recorder.Publish(observe.NoCompatibleInstanceTypes(in.pools[b.Pool], b.MinValues))
	}
}

// reportOmittedDaemons publishes which DaemonSets new nodes have no capacity for.
func (p *Provisioner) reportOmittedDaemons(ctx context.Context, omitted []solve.OmittedDaemon) {
	for _, o := range omitted {
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: o.DaemonSet.Namespace, Name: o.DaemonSet.Name, UID: types.UID(o.DaemonSet.UID)}}
		id := set.Namespace + "/" + set.Name
		level := p.level(slog.LevelWarn, "omitted "+id)
		p.Log.Log(ctx, level, "planning without the daemonset, no instance type has capacity for its pods", logfield.DaemonSet(id),
			logfield.NodePools(listing(o.Pools[:min(len(o.Pools), maxListed)], len(o.Pools))))
		p.Recorder.Publish(observe.DaemonSetTooLarge(set, o.Pools))
	}
}

// reportRefused publishes for each pod why it gets no node of each pool.
func (p *Provisioner) reportRefused(ctx context.Context, refused []solve.UnschedulablePods) {
	count := 0
	for _, r := range refused {
		err, pods := errors.New(observe.JoinReasons(r.Reasons.Texts())), realPods(r.Pods)
		if len(pods) < len(r.Pods) {
			p.Log.Debug("could not schedule virtual pods of capacity buffers", logfield.Pods(names(r.Pods)), logfield.Error(err), logfield.ReasonCodes(codes(r.Reasons)))
		}
		if len(pods) == 0 {
			continue
		}
		count += len(pods)
		level := p.refusalLevel(r.Reasons, pods)
		p.Log.Log(ctx, level, "could not schedule pod(s)", logfield.Pods(names(pods)), logfield.Error(err), logfield.ReasonCodes(codes(r.Reasons)))
		for _, pod := range pods {
			p.Recorder.Publish(observe.FailedScheduling(reference(pod), err, codes(r.Reasons)...))
		}
	}
	p.Metrics.Scheduler.UnschedulablePods.WithLabelValues(name).Set(float64(count))
}

// reportZones replaces the series of the previous pass.
func (p *Provisioner) reportZones(zones []solve.ZoneCount) {
	gauge := p.Metrics.Scheduler.PendingPodsByEffectiveZone
	gauge.DeletePartialMatch(map[string]string{"controller": name})
	for _, z := range zones {
		gauge.WithLabelValues(name, z.Zone).Set(float64(z.Pods))
	}
}

// refusalLevel is the log level of a refusal: debug if each of the pods was refused for these reasons before, however many others
// wait with it. Ignoring devices and deleting a pool are what a user asked for, not errors.
func (p *Provisioner) refusalLevel(reasons unschedulable.Reasons, pods []*model.Pod) slog.Level {
	first := slog.LevelError
	if len(reasons) > 0 && reasons[0].Code == unschedulable.DevicesIgnored ||
		slices.ContainsFunc(reasons, func(r unschedulable.Reason) bool {
			return r.Code == unschedulable.PoolNotUsed && r.Why == problem.Deleting
		}) {
		first = slog.LevelInfo
	}
	level, about := slog.LevelDebug, strings.Join(codes(reasons), ",")
	for _, pod := range pods {
		level = max(level, p.level(first, pod.UID+" "+about))
	}
	return level
}

func (p *Provisioner) reportRejected(rejected []*model.Pod) {
	for _, pod := range rejected {
		p.Log.Debug("ignoring pod", logfield.Pod(pod.ID()), logfield.Error(errors.New(pod.Rejected)))
		if !pod.Silent {
			p.Recorder.Publish(observe.FailedScheduling(reference(pod), errors.New(pod.Rejected)))
		}
	}
}

// planned are the pods that hear about it if their NodeClaim is not launched.
func planned(pods []*model.Pod) []create.PlannedPod {
	var out []create.PlannedPod
	for _, pod := range realPods(pods) {
		out = append(out, create.PlannedPod{NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, UID: types.UID(pod.UID)})
	}
	return out
}

// reference is a pod as the object of an event.
func reference(pod *model.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID)}}
}

// maxListed is the number of names that a log line lists before it counts the rest.
const maxListed = 5

func names(pods []*model.Pod) string {
	return listing(ids(pods[:min(len(pods), maxListed)]), len(pods))
}

func ids(pods []*model.Pod) []string {
	list := make([]string, len(pods))
	for i, pod := range pods {
		list[i] = pod.ID()
	}
	return list
}

// listing returns the first names and the number of the others as text.
func listing(first []string, count int) string {
	if len(first) == count {
		return strings.Join(first, ", ")
	}
	return fmt.Sprintf("%s and %d other(s)", strings.Join(first, ", "), count-len(first))
}

func codes(reasons unschedulable.Reasons) []string {
	out := make([]string, len(reasons))
	for i, r := range reasons {
		out[i] = string(r.Code)
	}
	return out
}
