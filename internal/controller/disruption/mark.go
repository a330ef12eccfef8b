package disruption

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

const (
	// writers is the number of concurrent writes to nodes, of all commands together.
	writers = 50
	// attempts is the number of attempts of a write, with delays that double from firstPause.
	attempts   = 5
	firstPause = 50 * time.Millisecond
)

// marker marks the nodes of commands, and removes the marks.
type marker struct {
	client client.Client
	// live reads from the API server.
	live  client.Reader
	clock clock.Clock
	log   *slog.Logger
	// turns limits concurrent writes to nodes.
	turns *semaphore.Weighted
}

// forEach calls f for every item, at most writers at a time, and returns their errors in the order of the items. Writes run in the
// order of their requests, so that a command does not wait until all others have finished.
func forEach[T any](ctx context.Context, turns *semaphore.Weighted, items []T, f func(T) error) []error {
	return parallel.ForEach(items, len(items), func(item T) error {
		if err := turns.Acquire(ctx, 1); err != nil {
			return err
		}
		defer turns.Release(1)
		return f(item)
	})
}

// mark taints a node against new pods and sets the reason for its disruption on the NodeClaim. Objects that no longer exist count
// as marked.
func (m *marker) mark(ctx context.Context, n *model.Node, reason disrupt.Reason) error {
	err := m.patchNode(ctx, n.NodeName, func(node *corev1.Node) bool {
		if disrupted(node) {
			return false
		}
		node.Spec.Taints = append(node.Spec.Taints, v1.DisruptedNoScheduleTaint())
		return true
	})
	if err != nil {
		return fmt.Errorf("tainting node %q: %w", n.NodeName, err)
	}
	err = m.patchClaimStatus(ctx, n.ClaimName, func(claim *v1.NodeClaim) bool {
		return condition.For(claim, m.clock.Now()).TrueWithReason(v1.ConditionTypeDisruptionReason, string(reason), string(reason))
	})
	if err != nil {
		return fmt.Errorf("setting the disruption reason of nodeclaim %q: %w", n.ClaimName, err)
	}
	return nil
}

// unmark reverts mark. Nodes that are being deleted keep their marks, and the condition of nodes that are not initialized is not
// changed.
func (m *marker) unmark(ctx context.Context, n *model.Node) error {
	claim := &v1.NodeClaim{}
	err := m.client.Get(ctx, client.ObjectKey{Name: n.ClaimName}, claim)
	if err != nil || !claim.DeletionTimestamp.IsZero() {
		return client.IgnoreNotFound(err)
	}
	err = m.patchNode(ctx, n.NodeName, func(node *corev1.Node) bool {
		if !node.DeletionTimestamp.IsZero() || !disrupted(node) {
			return false
		}
		taint := v1.DisruptedNoScheduleTaint()
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
		return true
	})
	if err != nil {
		return fmt.Errorf("removing the disrupted taint of node %q: %w", n.NodeName, err)
	}
	if !n.Initialized {
		return nil
	}
	err = m.patchClaimStatus(ctx, n.ClaimName, func(claim *v1.NodeClaim) bool {
		return claim.DeletionTimestamp.IsZero() && condition.For(claim, m.clock.Now()).Clear(v1.ConditionTypeDisruptionReason)
	})
	if err != nil {
		return fmt.Errorf("clearing the disruption reason of nodeclaim %q: %w", n.ClaimName, err)
	}
	return nil
}

func (m *marker) patchNode(ctx context.Context, name string, change func(*corev1.Node) bool) error {
	return m.persist(ctx, func(from client.Reader) error {
		node := &corev1.Node{}
		if err := from.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return err
		}
		stored := node.DeepCopy()
		if !change(node) {
			return nil
		}
		return m.client.Patch(ctx, node, optimistic(stored))
	})
}

func (m *marker) patchClaimStatus(ctx context.Context, name string, change func(*v1.NodeClaim) bool) error {
	return m.persist(ctx, func(from client.Reader) error {
		claim := &v1.NodeClaim{}
		if err := from.Get(ctx, client.ObjectKey{Name: name}, claim); err != nil {
			return err
		}
		stored := claim.DeepCopy()
		if !change(claim) {
			return nil
		}
		return m.client.Status().Patch(ctx, claim, optimistic(stored))
	})
}

// optimistic returns a patch that fails with a conflict when another client wrote the object: lists are replaced as a whole.
func optimistic(stored client.Object) client.Patch {
	return client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
}

// persist retries a write of an object that write reads before. An object that no longer exists needs no write. After a conflict the
// object is read from the API server: under load the cache may lag for longer than all attempts together, behind writers such as the
// kubelet, and every further write would conflict as well.
func (m *marker) persist(ctx context.Context, write func(from client.Reader) error) error {
	var from client.Reader = m.client
	delays := wait.Backoff{Duration: firstPause, Factor: 2, Steps: attempts}
	for attempt := 1; ; attempt++ {
		err := write(from)
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if apierrors.IsConflict(err) {
			from = m.live
		}
		if attempt == attempts || !sleep(ctx, m.clock, delays.Step()) {
			return err
		}
	}
}

// sleep waits for d and reports whether ctx has not ended.
func sleep(ctx context.Context, clk clock.Clock, d time.Duration) bool {
	timer := clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// onlyConflicts reports whether every error that was joined into err is a write conflict.
func onlyConflicts(err error) bool {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		return !slices.ContainsFunc(many.Unwrap(), func(e error) bool { return !onlyConflicts(e) })
	}
	return apierrors.IsConflict(err)
}
