package provisioning

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/problem"
)

// input is the input of one pass, with what is needed to act on the plan.
type input struct {
	// began is when the pass began.
	began time.Time
	// snapshot is that of the problem.
	snapshot *model.Snapshot
	problem  solve.Problem
	rejected []*model.Pod
	pools    map[string]*v1.NodePool
	// buffersUnknown is set when the virtual pods of capacity buffers are not all known, or some are left out.
	buffersUnknown bool
}

// gather reads the input of a pass. The snapshot is taken first: a pod that is bound meanwhile may be planned again on existing
// capacity, but never causes an unneeded launch.
func (p *Provisioner) gather(ctx context.Context, now time.Time) (input, error) {
	blind := false
	if p.Buffers != nil {
		if err := p.Buffers.Hydrate(ctx); err != nil {
			p.Log.Error("cannot read all capacity buffers, scheduling without them", logfield.Error(err))
			blind = true
		}
	}
	snapshot := p.Store.Snapshot()
	builder := p.builder()
	in, err := builder.WithoutPools(ctx, snapshot, now)
	if err != nil {
		return input{}, err
	}
	if in.Unreadable != nil {
		p.Log.Error("some pod disruption budgets cannot be read and are not considered", logfield.Error(in.Unreadable))
	}
	all := virtual(in.Problem.Pods)
	in.Problem.Pods = p.withoutQuarantined(in.Problem.Pods, now)
	out := input{snapshot: snapshot, rejected: in.Rejected, buffersUnknown: blind || virtual(in.Problem.Pods) < all}
	p.stranded.keep(in.Problem)
	in.Problem.Pods, in.Problem.Nodes = p.nominations.Reserve(in.Problem.Pods, in.Problem.Nodes, now, p.Scheduling.NominationWindow())
	p.Planned.Keep(func(uid types.UID) bool { return p.nominations[string(uid)] != "" })
	if len(in.Problem.Pods) > 0 {
		err = builder.AddPools(ctx, snapshot, &in)
		p.logSkipped(ctx, in.Pools.Skipped)
		out.pools = in.Pools.ByName
	}
	out.problem = in.Problem
	return out, err
}

// builder builds the problem of a pass.
func (p *Provisioner) builder() problem.Builder {
	rules := problem.PolicyOf(p.Scheduling, p.Gates)
	rules.DeviceTimeout = problem.DeviceTimeout(p.Clock.Now)
	return problem.Builder{
		Reader: poolReader{problem.ClientReader{Client: p.Client}, p.Live, p.Log}, Pods: p.Store, Cloud: p.Cloud, Translator: p.Translator, Catalogs: p.catalogs,
		Policy: rules, Caps: p.Creations.Caps(),
	}
}

// logSkipped logs the pools that may not launch.
func (p *Provisioner) logSkipped(ctx context.Context, pools []problem.SkippedPool) {
	for _, skipped := range pools {
		switch {
		case skipped.Unmanaged:
		case skipped.Why != "":
			level := p.level(slog.LevelInfo, "unusable "+skipped.Pool+skipped.Why)
			p.Log.Log(ctx, level, "skipping nodepool", logfield.NodePool(skipped.Pool), logfield.Reason(skipped.Why))
		case cloud.IsUnevaluatedNodePool(skipped.Err):
			p.Log.Debug("skipping nodepool, node overlays are not evaluated for it yet", logfield.NodePool(skipped.Pool))
		default:
			p.Log.Error("skipping nodepool, no instance types", logfield.NodePool(skipped.Pool), logfield.Error(skipped.Err))
		}
	}
}
