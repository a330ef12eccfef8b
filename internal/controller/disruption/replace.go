package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// launch creates the replacement NodeClaims, all or none, and returns their names. The store includes them immediately.
func (c *Controller) launch(ctx context.Context, cmd command) ([]string, error) {
	claims := cmd.plan.Replacements
	if cmd.plan.Static {
		claims = []solve.NodeClaim{{Pool: cmd.plan.Candidates[0].Node.Pool}}
	}
	names := make([]string, len(claims))
	indexes := make([]int, len(claims))
	for i := range claims {
		indexes[i] = i
	}
	err := errors.Join(forEach(ctx, c, indexes, func(i int) error {
		var err error
		names[i], err = c.create(ctx, cmd, claims[i])
		return err
	})...)
	var created []string
	for _, name := range names {
		if name != "" {
			created = append(created, name)
		}
	}
	if err != nil {
		c.withdraw(ctx, created)
		return nil, err
	}
	return created, nil
}

// create creates one NodeClaim and returns its name, also after an error if the NodeClaim may exist nevertheless.
func (c *Controller) create(ctx context.Context, cmd command, planned solve.NodeClaim) (string, error) {
	pool := &v1.NodePool{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: planned.Pool}, pool); err != nil {
		return "", fmt.Errorf("reading nodepool %q: %w", planned.Pool, err)
	}
	var claim *v1.NodeClaim
	if cmd.plan.Static {
		claim = c.Translator.StaticNodeClaim(pool, c.defaultGracePeriod())
	} else {
		claim = c.Translator.NodeClaim(pool, planned, c.defaultGracePeriod())
	}
	switch err := create.NodeClaim(ctx, c.Client, claim); {
	case create.OutcomeUnknown(err):
		// If it exists, it is withdrawn.
		c.Store.Created(claim, c.Clock.Now())
		return claim.Name, fmt.Errorf("creating a replacement: %w", err)
	case err != nil:
		return "", fmt.Errorf("creating a replacement: %w", err)
	}
	c.Store.Created(claim, c.Clock.Now())
	c.Log.Info("created nodeclaim", "NodePool", planned.Pool, "NodeClaim", claim.Name, "command-id", cmd.id)
	relaxed := claim.Annotations[v1.NodeClaimMinValuesRelaxedAnnotationKey]
	c.Metrics.NodeClaims.Created.WithLabelValues(label(cmd.method.Reason), planned.Pool, relaxed).Inc()
	return claim.Name, nil
}

// withinLimits checks the limits before anything is changed: since the command was computed, limits may have been lowered, or other
// nodes may have used the capacity within them. Limits on nodes of static pools are enforced by reservations.
func (c *Controller) withinLimits(ctx context.Context, cmd command) error {
	if cmd.plan.Static {
		return nil
	}
	usage := cluster.NewUsage(c.Store, c.Feed)
	for _, name := range cmd.launchesFrom() {
		pool := &v1.NodePool{}
		if err := c.Client.Get(ctx, client.ObjectKey{Name: name}, pool); err != nil {
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

func (c *Controller) defaultGracePeriod() *metav1.Duration {
	if c.Cloud.DefaultTerminationGracePeriod == nil {
		return nil
	}
	return &metav1.Duration{Duration: *c.Cloud.DefaultTerminationGracePeriod}
}

// withdraw deletes the replacements that never became ready, and returns their number. Replacements that pods are bound to or that
// are ready are kept: consolidation removes them if they are not needed.
func (c *Controller) withdraw(ctx context.Context, names []string) int {
	unready := 0
	for _, name := range names {
		claim := &v1.NodeClaim{}
		err := c.Client.Get(ctx, client.ObjectKey{Name: name}, claim)
		switch {
		case apierrors.IsNotFound(err):
			if !c.exists(name) {
				unready++
				continue
			}
			// The cache does not have it yet.
			claim.Name = name
		case err != nil:
			c.Log.Error("cannot read a replacement, leaving it to consolidation", "NodeClaim", name, "error", err)
			continue
		case condition.Status(claim, v1.ConditionTypeInitialized) == "True":
			continue
		}
		unready++
		if c.carriesPods(name) {
			continue
		}
		switch err := c.Client.Delete(ctx, claim); {
		case apierrors.IsNotFound(err):
			// There is no watch event for a NodeClaim that was never written.
			c.Store.DeleteNodeClaim(name)
		case err != nil:
			c.Log.Error("cannot delete a replacement, leaving it to consolidation", "NodeClaim", name, "error", err)
		}
	}
	return unready
}

// nodeOf is the node of a NodeClaim in the snapshot; nil if there is none.
func (c *Controller) nodeOf(claim string) *model.Node {
	for _, n := range c.Store.Snapshot().Nodes.All() {
		if n.ClaimName == claim {
			return n
		}
	}
	return nil
}

func (c *Controller) exists(claim string) bool { return c.nodeOf(claim) != nil }

func (c *Controller) carriesPods(claim string) bool {
	n := c.nodeOf(claim)
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
func (c *Controller) await(ctx context.Context, cmd command) bool {
	ready := map[string]bool{}
	for {
		c.protect(cmd.plan)
		waiting, err := c.countWaiting(ctx, cmd, ready)
		switch {
		case err == nil && waiting == 0:
			return true
		case errors.Is(err, errReplacementGone):
			c.giveUp(ctx, cmd, cmd.plan.Candidates, err)
			return false
		case c.timedOut(cmd):
			c.giveUp(ctx, cmd, cmd.plan.Candidates, errors.Join(errTimeout, err))
			return false
		}
		if !c.sleep(ctx, pollInterval) {
			return false
		}
	}
}

// countWaiting records which replacements are ready and returns the number of others.
func (c *Controller) countWaiting(ctx context.Context, cmd command, ready map[string]bool) (waiting int, err error) {
	for _, name := range cmd.launched {
		if ready[name] {
			continue
		}
		claim := &v1.NodeClaim{}
		switch err := c.Client.Get(ctx, client.ObjectKey{Name: name}, claim); {
		case apierrors.IsNotFound(err) && !c.exists(name):
			return waiting, fmt.Errorf("nodeclaim %q: %w", name, errReplacementGone)
		case err != nil:
			waiting++
			continue
		}
		c.Recorder.Publish(observe.DisruptionLaunching(claim, string(cmd.method.Reason)))
		if condition.Status(claim, v1.ConditionTypeInitialized) != "True" {
			c.Recorder.Publish(observe.DisruptionWaitingReadiness(claim))
			waiting++
			continue
		}
		ready[name] = true
	}
	return waiting, nil
}

// nominate protects the target nodes of the command's pods, and publishes events for the pods.
func (c *Controller) nominate(work disrupt.Command) {
	c.protect(work)
	for _, at := range work.Placements {
		for _, p := range at.Pods {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: types.UID(p.UID)}}
			c.Recorder.Publish(observe.Nominated(pod, at.Node.ClaimName, at.Node.NodeName))
		}
	}
}

// protect nominates the target nodes of the command's pods, so that they are not disrupted themselves.
func (c *Controller) protect(work disrupt.Command) {
	until := c.Clock.Now().Add(c.Scheduling.NominationWindow())
	for _, at := range work.Placements {
		c.Store.Nominate(until, at.Node.ID)
	}
}

// describeReplacements returns the replacements as log fields.
func describeReplacements(work disrupt.Command) []map[string]string {
	out := make([]map[string]string, len(work.Replacements))
	for i, claim := range work.Replacements {
		out[i] = map[string]string{"capacity-type": strings.Join(claim.Requirements.Get(v1.CapacityTypeLabelKey).Values(), ",")}
		if len(work.Replacements) == 1 {
			out[i]["instance-types"] = shorten(claim.InstanceTypes)
		}
	}
	return out
}

// shown is the number of names that a log line lists before it counts the rest.
const shown = 5

func shorten(list []string) string {
	if len(list) <= shown {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d other(s)", strings.Join(list[:shown], ", "), len(list)-shown)
}
