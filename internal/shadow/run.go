package shadow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Session is a comparison under way.
type Session struct {
	// Real reads the real cluster, Mirror the mirror, both from caches; To writes to the mirror.
	Real, Mirror client.Reader
	To           client.Client
	Clock        clock.WithTicker
	// Failed hears about writes to the mirror that failed, about equal failures of one object once. The next step repeats them.
	Failed func(error)
	// Launch is told how long instances of the incumbent take until their node is registered, whenever that has changed.
	Launch func(ctx context.Context, took time.Duration) error

	// launch is what Launch was told last, if learned is set.
	launch     time.Duration
	learned    bool
	mirror     *Mirror
	comparison *Comparison
	// failures are the objects that could not be written in the last step, with the reason.
	failures map[string]string
}

// NewSession begins a comparison. The fields are to be set before the first step.
func NewSession(s Settings, prices Prices) *Session {
	return &Session{mirror: NewMirror(s), comparison: NewComparison(prices)}
}

// AssumedLaunch is how long simulated instances take to join as long as no NodeClaim of the real cluster tells.
const AssumedLaunch = 45 * time.Second

// every is the time between steps.
const every = time.Second

// Fill brings the mirror to the state of the real cluster, before a controller runs there.
func (s *Session) Fill(ctx context.Context) error {
	real, err := read(ctx, s.Real)
	if err != nil {
		return fmt.Errorf("reading the cluster: %w", err)
	}
	return s.write(ctx, s.mirror.Step(real, ClusterOf(nil), s.Clock.Now()))
}

// write applies changes. What fails is left out until it succeeds.
func (s *Session) write(ctx context.Context, changes []Change) error {
	failures := map[string]string{}
	for _, c := range changes {
		err := s.apply(ctx, c)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			continue
		}
		s.mirror.Forget(c.Object)
		id := kindOf(c.Object) + " " + client.ObjectKeyFromObject(c.Object).String()
		failures[id] = err.Error()
		if s.failures[id] != err.Error() {
			s.Failed(err)
		}
	}
	s.failures = failures
	return nil
}

// learn tells how long instances take to join.
func (s *Session) learn(ctx context.Context, real Cluster) error {
	took, learned := joining(real)
	if !learned || s.learned && took == s.launch {
		return nil
	}
	if err := s.Launch(ctx, took); err != nil {
		return fmt.Errorf("setting the time that instances take to join to %s: %w", took, err)
	}
	s.launch, s.learned = took, true
	return nil
}

// joining is the median time from the launch of an instance until its node is registered; false where there is none to learn from.
func joining(c Cluster) (time.Duration, bool) {
	var took []time.Duration
	for _, claim := range c.claims() {
		status := condition.For(claim, time.Time{})
		launched, registered := status.Get(v1.ConditionTypeLaunched), status.Get(v1.ConditionTypeRegistered)
		if launched == nil || registered == nil || launched.Status != metav1.ConditionTrue || registered.Status != metav1.ConditionTrue {
			continue
		}
		took = append(took, max(registered.LastTransitionTime.Sub(launched.LastTransitionTime.Time), 0))
	}
	if len(took) == 0 {
		return 0, false
	}
	slices.Sort(took)
	return took[len(took)/2].Round(time.Second), true
}

// notes are what is not known.
func (s *Session) notes(more []string) []string {
	if !s.learned {
		more = append(slices.Clone(more), fmt.Sprintf("no NodeClaim of the cluster says how long an instance takes to join: the shadow fleet assumes %s", AssumedLaunch))
	}
	return more
}

// left counts what has no twin.
func (s *Session) left() map[string]int {
	out := s.mirror.Left()
	if n := len(s.failures); n > 0 {
		out["objects that the mirror refused, see standard error"] = n
	}
	return out
}

// Run follows the real cluster and measures both until the context ends. report gets the comparison after each step.
func (s *Session) Run(ctx context.Context, notes []string, report func(Report)) error {
	ticks := s.Clock.NewTicker(every)
	defer ticks.Stop()
	for {
		if err := s.step(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		report(s.comparison.Report(s.left(), s.notes(notes)))
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C():
		}
	}
}

func (s *Session) step(ctx context.Context) error {
	real, err := read(ctx, s.Real)
	if err != nil {
		return fmt.Errorf("reading the cluster: %w", err)
	}
	mirror, err := read(ctx, s.Mirror)
	if err != nil {
		return fmt.Errorf("reading the mirror: %w", err)
	}
	if err := s.learn(ctx, real); err != nil {
		return err
	}
	now := s.Clock.Now()
	s.comparison.Measure(real, mirror, now)
	return s.write(ctx, s.mirror.Step(real, mirror, now))
}

// read lists all kinds that a cluster has.
func read(ctx context.Context, from client.Reader) (Cluster, error) {
	var all []client.Object
	for _, kind := range Kinds() {
		list := kind.List()
		if err := from.List(ctx, list); err != nil {
			if kind.Optional && meta.IsNoMatchError(err) {
				continue
			}
			return Cluster{}, fmt.Errorf("listing objects of the kind %s: %w", kind.Name, err)
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			if object, ok := o.(client.Object); ok {
				all = append(all, object)
			}
			return nil
		})
		if err != nil {
			return Cluster{}, fmt.Errorf("listing objects of the kind %s: %w", kind.Name, err)
		}
	}
	return ClusterOf(all), nil
}

// apply writes a change.
func (s *Session) apply(ctx context.Context, c Change) error {
	object, _ := c.Object.DeepCopyObject().(client.Object)
	name := kindOf(object) + " " + client.ObjectKeyFromObject(object).String()
	var err error
	switch c.Verb {
	case Create:
		err = s.To.Create(ctx, object)
	case Update:
		err = s.To.Update(ctx, object)
	case Delete:
		// Its controller, if there is one, has the say in how long the deletion takes; a pod of the mirror runs nothing.
		err = s.To.Delete(ctx, object, client.GracePeriodSeconds(0))
	}
	if apierrors.IsConflict(err) {
		s.mirror.Forget(object)
	}
	if passing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("mirror: %s of %s: %w", c.Verb, name, err)
	}
	if !c.Status {
		return nil
	}
	status, _ := c.Object.DeepCopyObject().(client.Object) // writing has replaced that of object
	status.SetResourceVersion(object.GetResourceVersion())
	status.SetUID(object.GetUID())
	if err := s.To.Status().Update(ctx, status); err != nil && !passing(err) {
		return fmt.Errorf("mirror: status of %s: %w", name, err)
	}
	return nil
}

// passing: the state of the mirror was older than its last write.
func passing(err error) bool {
	return apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || errors.Is(err, context.Canceled)
}
