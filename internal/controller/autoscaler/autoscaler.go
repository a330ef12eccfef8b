// Package autoscaler keeps what VerticalPodAutoscalers predict up to date.
//
// Autoscalers are asked for every half a minute rather than watched: most clusters do not have them, and a kind that does not
// exist cannot be watched.
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

	"github.com/karpenter-anew/karpenter/internal/prediction"
	"github.com/karpenter-anew/karpenter/internal/ttlcache"
)

const (
	// period is how often autoscalers are looked at, and absence how often it is looked whether there are any by now.
	period, absence = 30 * time.Second, time.Minute
	// complainEvery is how often the same failure is logged.
	complainEvery = time.Hour
)

// Controller is the loop vpa.prediction.
type Controller struct {
	reader client.Reader
	clock  clock.Clock
	store  *prediction.Store
	log    *slog.Logger
	// said are the failures that were logged not long ago.
	said *ttlcache.Cache[string, bool]
}

// New builds the loop, which fills store. reader should not keep what it reads.
func New(reader client.Reader, c clock.Clock, store *prediction.Store, log *slog.Logger) *Controller {
	return &Controller{
		reader: reader, clock: c, store: store, log: log.With("controller", "vpa.prediction"),
		said: ttlcache.New[string, bool](c, complainEvery),
	}
}

// Register adds the loop to the manager.
func (c *Controller) Register(m manager.Manager) error { return m.Add(c) }

// NeedLeaderElection is true: only who plans needs predictions.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start looks at autoscalers until ctx ends.
func (c *Controller) Start(ctx context.Context) error {
	for {
		wait := c.round(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-c.clock.After(wait):
		}
	}
}

// round reads all autoscalers and reports when to look again. While they cannot be listed, what was predicted before stands.
func (c *Controller) round(ctx context.Context) time.Duration {
	var list unstructured.UnstructuredList
	kind := prediction.Kind()
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := c.reader.List(ctx, &list)
	switch {
	case meta.IsNoMatchError(err):
		c.store.Replace(nil, true)
		return absence
	case err != nil:
		c.complain(ctx, "cannot list VerticalPodAutoscalers, using what they said last", err)
		return period
	}
	var autoscalers []prediction.Autoscaler
	complete := true
	for i := range list.Items {
		a, err := prediction.Parse(&list.Items[i])
		if err != nil {
			complete = false
			c.complain(ctx, "skipping a VerticalPodAutoscaler", err)
			continue
		}
		autoscalers = append(autoscalers, a)
	}
	c.store.Replace(prediction.Resolve(autoscalers), complete)
	return period
}

func (c *Controller) complain(ctx context.Context, message string, err error) {
	if _, said := c.said.Get(err.Error()); said || ctx.Err() != nil {
		return
	}
	c.said.Set(err.Error(), true)
	c.log.ErrorContext(ctx, message, "error", err)
}
