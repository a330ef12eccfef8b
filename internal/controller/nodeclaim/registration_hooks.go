package nodeclaim

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
)

// hookOutcome is the outcome of all registration hooks together.
type hookOutcome struct {
	// names are the pending hooks, in the order of the cloud provider.
	names []string
	outcome
}

func (h hookOutcome) message() string { return strings.Join(h.names, ", ") }

// runHooks calls every hook in parallel, each with a copy of the NodeClaim, and applies the labels and annotations that they changed.
// A hook that fails is pending and retried with backoff.
func (l *Lifecycle) runHooks(ctx context.Context, claim *v1.NodeClaim) hookOutcome {
	hooks := l.Cloud.Hooks
	copies := make([]*v1.NodeClaim, len(hooks))
	results := make([]cloud.HookResult, len(hooks))
	for i := range hooks {
		copies[i] = claim.DeepCopy()
	}
	errs := parallel.Times(len(hooks), max(1, len(hooks)), func(i int) (err error) {
		results[i], err = hooks[i].Registered(ctx, copies[i])
		return err
	})

	before := claim.DeepCopy()
	var out hookOutcome
	for i, hook := range hooks {
		if errs[i] != nil {
			out.names = append(out.names, hook.Name())
			out.err = errors.Join(out.err, fmt.Errorf("registration hook %q failed, %w", hook.Name(), errs[i]))
			continue
		}
		claim.Labels = changed(claim.Labels, before.Labels, copies[i].Labels)
		claim.Annotations = changed(claim.Annotations, before.Annotations, copies[i].Annotations)
		if results[i].Pending() {
			out.names = append(out.names, hook.Name())
			out.again = out.again || results[i].Requeue
			out.after = sooner(out.after, results[i].RequeueAfter)
		}
	}
	return out
}

// changed applies the difference between before and after to target.
func changed(target, before, after map[string]string) map[string]string {
	for key, value := range after {
		if old, ok := before[key]; !ok || old != value {
			target = overlaid(target, map[string]string{key: value})
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			delete(target, key)
		}
	}
	return target
}
