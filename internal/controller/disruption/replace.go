package disruption

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// launch creates the replacement NodeClaims, all or none, and returns their names. The store includes them immediately.
func (e *executor) launch(ctx context.Context, cmd command) ([]string, error) {
	claims := cmd.plan.Replacements
	if cmd.plan.Static {
		claims = []solve.NodeClaim{{Pool: cmd.plan.Candidates[0].Node.Pool}}
	}
	names := make([]string, len(claims))
	indexes := make([]int, len(claims))
	for i := range claims {
		indexes[i] = i
	}
	err := errors.Join(forEach(ctx, e.marks.turns, indexes, func(i int) error {
		var err error
		names[i], err = e.create(ctx, cmd, claims[i])
		return err
	})...)
	var created []string
	for _, name := range names {
		if name != "" {
			created = append(created, name)
		}
	}
	if err != nil {
		e.withdraw(ctx, created)
		return nil, err
	}
	return created, nil
}

// create creates one NodeClaim and returns its name, also after an error if the NodeClaim may exist nevertheless.
func (e *executor) create(ctx context.Context, cmd command, planned solve.NodeClaim) (string, error) {
	pool := &v1.NodePool{}
	if err := e.Client.Get(ctx, client.ObjectKey{Name: planned.Pool}, pool); err != nil {
		return "", fmt.Errorf("reading nodepool %q: %w", planned.Pool, err)
	}
	var claim *v1.NodeClaim
	if cmd.plan.Static {
		claim = e.Translator.StaticNodeClaim(pool, e.defaultGracePeriod())
	} else {
		claim = e.Translator.NodeClaim(pool, planned, e.defaultGracePeriod())
	}
	requests := logfield.Requests(claim.Spec.Resources.Requests)
	err := e.Creations.NodeClaim(ctx, e.Client, claim, func(name string) {
		e.Log.Info("created nodeclaim", logfield.NodePool(planned.Pool), logfield.NodeClaim(name), requests,
			logfield.InstanceTypes(shorten(planned.InstanceTypes)), logfield.CommandID(cmd.id))
	})
	switch {
	case create.OutcomeUnknown(err):
		// If it exists, it is withdrawn.
		e.Store.Created(claim, e.Clock.Now())
		return claim.Name, fmt.Errorf("creating a replacement: %w", err)
	case err != nil:
		return "", fmt.Errorf("creating a replacement: %w", err)
	}
	e.Store.Created(claim, e.Clock.Now())
	relaxed := claim.Annotations[v1.NodeClaimMinValuesRelaxedAnnotationKey]
	e.Metrics.NodeClaims.Created.WithLabelValues(label(cmd.method.Reason), planned.Pool, relaxed).Inc()
	e.Books.Created(claim, label(cmd.method.Reason), cmd.id, podNames(planned), ledger.NamesOf(planned.InstanceTypes))
	return claim.Name, nil
}

// withinLimits checks the limits before anything is changed: since the command was computed, limits may have been lowered, or other
// nodes may have used the capacity within them. Limits on nodes of static pools are enforced by reservations.
func (e *executor) withinLimits(ctx context.Context, cmd command) error {
	if cmd.plan.Static {
		return nil
	}
	usage := cluster.NewUsage(e.Store, e.Feed)
	for _, name := range cmd.launchesFrom() {
		pool := &v1.NodePool{}
		if err := e.Client.Get(ctx, client.ObjectKey{Name: name}, pool); err != nil {
			return fmt.Errorf("reading nodepool %q: %w", name, err)
		}
		used, _ := usage.PoolUsage(name)
		if resource := pool.Spec.Limits.Exceeded(used); resource != "" {
			limit, amount := pool.Spec.Limits[resource], used[resource]
			return fmt.Errorf("nodepool %q uses %s of %s, its limit is %s", name, amount.String(), resource, limit.String())
		}
	}
	return nil
}

func (e *executor) defaultGracePeriod() *metav1.Duration {
	if e.Cloud.DefaultTerminationGracePeriod == nil {
		return nil
	}
	return &metav1.Duration{Duration: *e.Cloud.DefaultTerminationGracePeriod}
}

// withdraw deletes the replacements that never became ready, and returns their number. Replacements that pods are bound to or that
// are ready are kept: consolidation removes them if they are not needed.
func (e *executor) withdraw(ctx context.Context, names []string) int {
	unready := 0
	for _, name := range names {
		claim := &v1.NodeClaim{}
		err := e.Client.Get(ctx, client.ObjectKey{Name: name}, claim)
		switch {
		case apierrors.IsNotFound(err):
			if !e.exists(name) {
				unready++
				continue
			}
			// The cache does not have it yet.
			claim.Name = name
		case err != nil:
			e.Log.Error("cannot read a replacement, leaving it to consolidation", logfield.NodeClaim(name), logfield.Error(err))
			continue
		case condition.Status(claim, v1.ConditionTypeInitialized) == "True":
			continue
		}
		unready++
		if e.carriesPods(name) {
			continue
		}
		switch err := e.Client.Delete(ctx, claim); {
		case apierrors.IsNotFound(err):
			// There is no watch event for a NodeClaim that was never written.
			e.Store.DeleteNodeClaim(name)
		case err != nil:
			e.Log.Error("cannot delete a replacement, leaving it to consolidation", logfield.NodeClaim(name), logfield.Error(err))
		default:
			e.Books.Disrupted(claim, "withdrawn", "")
		}
	}
	return unready
}

// nodeOf is the node of a NodeClaim in the snapshot; nil if there is none.
func (e *executor) nodeOf(claim string) *model.Node {
	for _, n := range e.Store.Snapshot().Nodes.All() {
		if n.ClaimName == claim {
			return n
		}
	}
	return nil
}

func (e *executor) exists(claim string) bool { return e.nodeOf(claim) != nil }

func (e *executor) carriesPods(claim string) bool {
	n := e.nodeOf(claim)
	if n == nil {
		return false
	}
	for _, p := range n.Pods {
		if p.Reschedulable {
			return true
		}
	}
	return false
}

// errReplacementGone is the error of a command whose replacement was deleted before it was ready.
var errReplacementGone = errors.New("replacement was deleted")

// await waits until every replacement has been initialized, and reports whether it has. A command that cannot succeed fails.
func (e *executor) await(ctx context.Context, cmd command) bool {
	ready := map[string]bool{}
	for {
		e.protect(cmd.plan)
		waiting, err := e.countWaiting(ctx, cmd, ready)
		e.queue.follow(cmd.id, Launching, slices.DeleteFunc(slices.Clone(cmd.launched), func(name string) bool { return ready[name] }))
		switch {
		case err == nil && waiting == 0:
			return true
		case errors.Is(err, errReplacementGone):
			e.giveUp(ctx, cmd, cmd.plan.Candidates, err)
			return false
		case e.timedOut(cmd):
			e.giveUp(ctx, cmd, cmd.plan.Candidates, errors.Join(errTimeout, err))
			return false
		}
		if !sleep(ctx, e.Clock, pollInterval) {
			return false
		}
	}
}

// countWaiting records which replacements are ready and returns the number of others.
func (e *executor) countWaiting(ctx context.Context, cmd command, ready map[string]bool) (waiting int, err error) {
	for _, name := range cmd.launched {
		if ready[name] {
			continue
		}
		claim := &v1.NodeClaim{}
		switch err := e.Client.Get(ctx, client.ObjectKey{Name: name}, claim); {
		case apierrors.IsNotFound(err) && !e.exists(name):
			return waiting, fmt.Errorf("nodeclaim %q: %w", name, errReplacementGone)
		case err != nil:
			waiting++
			continue
		}
		e.Recorder.Publish(observe.DisruptionLaunching(claim, string(cmd.method.Reason)))
		if condition.Status(claim, v1.ConditionTypeInitialized) != "True" {
			e.Recorder.Publish(observe.DisruptionWaitingReadiness(claim))
			waiting++
			continue
		}
		ready[name] = true
	}
	return waiting, nil
}

// nominate protects the target nodes of the command's pods, and publishes events for the pods.
func (e *executor) nominate(work disrupt.Command) {
	e.protect(work)
	for _, at := range work.Placements {
		for _, p := range at.Pods {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID)}}
			e.Recorder.Publish(observe.Nominated(pod, at.Node.ClaimName, at.Node.NodeName))
		}
	}
}

// protect nominates the target nodes of the command's pods, so that they are not disrupted themselves.
func (e *executor) protect(work disrupt.Command) {
	until := e.Clock.Now().Add(e.Scheduling.NominationWindow())
	for _, at := range work.Placements {
		e.Store.Nominate(until, at.Node.ID)
	}
}
