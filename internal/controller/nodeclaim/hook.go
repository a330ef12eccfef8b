package nodeclaim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// held is what the registration hooks say together.
type held struct {
	// names are the hooks that have not agreed, in the order they were given.
	names []string
	outcome
}

func (h held) message() string { return strings.Join(h.names, ", ") }

// runHooks asks every hook, in parallel, each with a copy of the claim of its own, and then takes over the labels and
// annotations they added. An error counts as pending; it is retried with back-off.
func (l *Lifecycle) runHooks(ctx context.Context, claim *v1.NodeClaim) held {
	hooks := l.Cloud.Hooks
	copies := make([]*v1.NodeClaim, len(hooks))
	results := make([]cloud.HookResult, len(hooks))
	errs := make([]error, len(hooks))
	var wg sync.WaitGroup
	for i, hook := range hooks {
		copies[i] = claim.DeepCopy()
		wg.Go(func() { results[i], errs[i] = hook.Registered(ctx, copies[i]) })
	}
	wg.Wait()

	before := claim.DeepCopy()
	var out held
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

// changed applies to target what differs between before and after.
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
