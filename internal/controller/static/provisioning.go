// Package static keeps NodePools with replicas at their size: one controller creates NodeClaims while there are too few,
// another deletes some while there are too many. Pods do not change the number; limits.nodes is enforced by reservations,
// which other controllers that launch for the same pool take, too.
//
// Both are level-triggered: they read the cluster state, which holds a NodeClaim from the moment it was created, and keep
// nothing but failures between two reconciles.
//
// Source: lifecycle specification, static capacity; scheduling specification, static NodePools.
package static

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/create"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/managed"
	"github.com/karpenter-anew/karpenter/internal/controller/parallel"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

const (
	// provisioningName is the name of the controller in logs and metrics.
	provisioningName = "static.provisioning"
	// concurrency is how many pools each controller reconciles at once.
	concurrency = 10
	// writers is how many NodeClaims of a pool are written at once.
	writers = 32
	// stride is how many NodeClaims are created before the pool is read again: its replicas may have been a mistake.
	stride = 100

	// satisfied is the time until the next reconcile of a pool that needs nothing.
	satisfied = time.Minute
	// limited is the time until the next reconcile of a pool that has reached its limit.
	limited = 30 * time.Second
	// unready is the time until the next reconcile while the cluster state is incomplete.
	unready = time.Second
	// atOnce is the time until the next reconcile of a pool that needs more than one stride.
	atOnce = time.Millisecond
)

// Deps are the dependencies of the controllers.
type Deps struct {
	deps.Shared
	Store      *cluster.Store
	Translator *translate.Translator
	// Ready reports whether everything that existed at start is in Store.
	Ready func() bool
}

// Provisioning is the controller static.provisioning.
type Provisioning struct {
	Deps
	failures failures
	limits   limitsReached
}

// NewProvisioning builds the controller.
func NewProvisioning(d Deps) *Provisioning { return &Provisioning{Deps: d} }

// Register adds the controller to the manager.
func (p *Provisioning) Register(m manager.Manager) error {
	return builder.ControllerManagedBy(m).
		Named(provisioningName).
		For(&v1.NodePool{}, builder.WithPredicates(managed.Predicate(p.Cloud), mayNeedMore())).
		WatchesRawSource(onNodeClaimCountsChange(p.Store)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(p)
}

// Reconcile creates what one pool lacks.
func (p *Provisioning) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	pool, err := p.pool(ctx, request)
	if err != nil {
		return reconcile.Result{}, err
	}
	if pool == nil || condition.Status(pool, v1.ConditionTypeReady) != metav1.ConditionTrue {
		p.failures.forget(request.Name)
		p.limits.forget(request.Name)
		return reconcile.Result{}, nil
	}
	if !p.Ready() {
		return requeue.After(unready), nil
	}
	have := p.Store.Pools.Counts(pool.Name)
	missing := int(*pool.Spec.Replicas) - have.Active - have.PendingDisruption - have.TerminatedFirst
	if missing <= 0 {
		p.limits.forget(pool.Name)
		return requeue.After(satisfied), nil
	}
	if wait := p.failures.wait(pool.Name, p.Store.Pools.Claims(pool.Name), p.Clock.Now()); wait > 0 {
		return requeue.After(wait), nil
	}
	places := p.Store.Pools.Reserve(pool.Name, min(missing, stride), nodeLimit(pool))
	if places.Left() == 0 {
		level := slog.LevelDebug
		if p.limits.reached(pool.Name, *nodeLimit(pool)) {
			level = slog.LevelInfo
		}
		observe.Log(ctx).Log(ctx, level, "nodepool node limit reached", logfield.Limit(*nodeLimit(pool)))
		return requeue.After(limited), nil
	}
	p.limits.forget(pool.Name)
	if err := p.create(ctx, pool, places); err != nil {
		return reconcile.Result{}, fmt.Errorf("creating nodeclaims, %w", err)
	}
	if missing > stride {
		return requeue.After(atOnce), nil
	}
	return requeue.After(satisfied), nil
}

// create creates as many NodeClaims as were reserved. Each reservation is released once the store has its claim, or once the
// creation has failed.
func (p *Provisioning) create(ctx context.Context, pool *v1.NodePool, places *cluster.Reservation) error {
	number := places.Left()
	names := make([]string, number)
	errs := parallel.Times(number, writers, func(i int) (err error) {
		defer places.Release(1)
		names[i], err = p.createOne(ctx, pool)
		return err
	})
	p.failures.created(pool.Name, names, p.Clock.Now())
	return errors.Join(errs...)
}

func (p *Provisioning) createOne(ctx context.Context, pool *v1.NodePool) (name string, err error) {
	var grace *metav1.Duration
	if d := p.Cloud.DefaultTerminationGracePeriod; d != nil {
		grace = &metav1.Duration{Duration: *d}
	}
	claim := p.Translator.StaticNodeClaim(pool, grace)
	requests := logfield.Requests(claim.Spec.Resources.Requests)
	err = p.Creations.NodeClaim(ctx, p.Client, claim, func(name string) {
		observe.Log(ctx).Info("created nodeclaim", logfield.NodePool(pool.Name), logfield.NodeClaim(name), requests)
	})
	if err == nil || create.OutcomeUnknown(err) {
		p.Store.Created(claim, p.Clock.Now())
	}
	if err != nil {
		return "", err
	}
	p.Metrics.NodeClaims.Created.WithLabelValues("provisioned", pool.Name, "false").Inc()
	p.Books.Created(claim, "provisioned", "", ledger.Names{}, ledger.Names{})
	return claim.Name, nil
}

// pool reads the pool of a request; nil unless it is a managed pool with replicas that is not being deleted.
func (d *Deps) pool(ctx context.Context, request reconcile.Request) (*v1.NodePool, error) {
	pool := &v1.NodePool{}
	if err := d.Client.Get(ctx, request.NamespacedName, pool); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !managed.Is(d.Cloud, pool) || pool.Spec.Replicas == nil || !pool.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return pool, nil
}

// nodeLimit is limits.nodes of the pool; nil without one.
func nodeLimit(pool *v1.NodePool) *int64 {
	n, limited := pool.Spec.Limits.Nodes()
	if !limited {
		return nil
	}
	return &n
}
