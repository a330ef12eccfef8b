// Package autoscaler reads the recommendations of VerticalPodAutoscalers.
//
// It lists them every half a minute instead of watching them: most clusters do not have the kind, and a kind that does not exist cannot
// be watched.
//
// Source: scheduling specification, other side stores.
package autoscaler

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/prediction"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// period is the time between two lists, and absentPeriod the time while the kind does not exist.
	period, absentPeriod = 30 * time.Second, time.Minute
	// warnPeriod is how long the same failure is not logged again.
	warnPeriod = time.Hour
)

// Controller is the controller vpa.prediction.
type Controller struct {
	reader client.Reader
	clock  clock.Clock
	store  *prediction.Store
	log    *slog.Logger
	// logged are the failures of the last warnPeriod.
	logged *ttlcache.Cache[string, bool]
}

// New builds the controller, which fills store. reader should not cache what it reads.
func New(reader client.Reader, c clock.Clock, store *prediction.Store, log *slog.Logger) *Controller {
	return &Controller{
		reader: reader, clock: c, store: store, log: log.With(logfield.Controller("vpa.prediction")),
		logged: ttlcache.New[string, bool](c, warnPeriod),
	}
}

// Register adds the controller to the manager.
func (c *Controller) Register(m manager.Manager) error { return m.Add(c) }

// NeedLeaderElection is true: only the leader schedules pods.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start lists VerticalPodAutoscalers until ctx ends.
func (c *Controller) Start(ctx context.Context) error {
	for {
		wait := c.refresh(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-c.clock.After(wait):
		}
	}
}

// refresh reads all VerticalPodAutoscalers and returns the time until the next list. While they cannot be listed, the last
// recommendations stay.
func (c *Controller) refresh(ctx context.Context) time.Duration {
	var list unstructured.UnstructuredList
	kind := prediction.Kind()
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := c.reader.List(ctx, &list)
	switch {
	case meta.IsNoMatchError(err):
		c.store.Replace(nil, true)
		return absentPeriod
	case err != nil:
		c.warn(ctx, "listing VerticalPodAutoscalers failed, using their last recommendations", err)
		return period
	}
	var autoscalers []prediction.Autoscaler
	complete := true
	for i := range list.Items {
		a, err := prediction.Parse(&list.Items[i])
		if err != nil {
			complete = false
			c.warn(ctx, "ignoring an invalid VerticalPodAutoscaler", err)
			continue
		}
		autoscalers = append(autoscalers, a)
	}
	c.store.Replace(prediction.Resolve(autoscalers), complete)
	return period
}

// warn logs a failure, unless the same one was logged within warnPeriod.
func (c *Controller) warn(ctx context.Context, message string, err error) {
	if _, logged := c.logged.Get(err.Error()); logged || ctx.Err() != nil {
		return
	}
	c.logged.Set(err.Error(), true)
	c.log.ErrorContext(ctx, message, logfield.Error(err))
}
