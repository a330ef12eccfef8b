package operator

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	// publishPeriod is the time after which published settings are written again, in case that a user changed or deleted them.
	publishPeriod = time.Hour
	// publishRetry is the time after which a failed write is repeated; it doubles up to publishPeriod.
	publishRetry = 10 * time.Second
	// fieldOwner owns the published fields.
	fieldOwner = "karpenter"
)

// publishedAbout is shown to those who read the ConfigMap.
const publishedAbout = "Settings of the Karpenter controller that change its plans. The controller writes them for karpenter explain and " +
	"karpenter simulate; changes here have no effect."

// publisher writes the settings of the process to a ConfigMap in its namespace, so that explain and simulate use the same ones. It runs on the
// leader only.
//
// The write is a server-side apply: one request that creates or changes, for which the permission to patch this one object is sufficient
// if it exists. The Helm chart creates it without data.
type publisher struct {
	client    client.Client
	clock     clock.Clock
	log       *slog.Logger
	namespace string
	data      map[string]string
}

// newPublisher returns the publisher of the settings of a process whose cloud is open.
func newPublisher(a assembly, place cloud.Cloud) (*publisher, error) {
	data, err := published(a.options, a.process, place)
	if err != nil {
		return nil, fmt.Errorf("collecting the settings to publish: %w", err)
	}
	return &publisher{client: a.manager.GetClient(), clock: a.clock, log: a.process.Log, namespace: a.namespace, data: data}, nil
}

// published returns the data of the ConfigMap.
func published(o options.Options, p Process, place cloud.Cloud) (map[string]string, error) {
	var of map[string]string
	if p.Provider.Published != nil {
		of = p.Provider.Published(o, place)
	}
	data, err := o.Published(of)
	if err != nil {
		return nil, err
	}
	data[options.PublishedVersion] = p.Build.Version
	if p.Build.Commit != "" {
		data[options.PublishedCommit] = p.Build.Commit
	}
	return data, nil
}

// Start implements manager.Runnable. It never fails: the controller works without published settings.
func (p *publisher) Start(ctx context.Context) error {
	if p.namespace == "" {
		p.log.Info("not publishing settings, because the namespace of the controller is unknown: name one with --leader-election-namespace")
		return nil
	}
	retry, logged := publishRetry, ""
	for {
		wait := publishPeriod
		if err := p.publish(ctx); err == nil {
			retry, logged = publishRetry, ""
		} else if ctx.Err() == nil {
			if err.Error() != logged {
				p.log.ErrorContext(ctx, "publishing settings failed, retrying", logfield.Object("ConfigMap", p.namespace+"/"+options.PublishedName), logfield.Error(err))
			}
			wait, retry, logged = retry, min(2*retry, publishPeriod), err.Error()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.clock.After(wait):
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (p *publisher) NeedLeaderElection() bool { return true }

// publish writes the ConfigMap. Keys of an earlier version that are not published any more are removed.
func (p *publisher) publish(ctx context.Context) error {
	settings := applycorev1.ConfigMap(options.PublishedName, p.namespace).
		WithLabels(map[string]string{options.PublishedLabel: "controller"}).
		WithAnnotations(map[string]string{"kubernetes.io/description": publishedAbout}).
		WithData(p.data)
	return p.client.Apply(ctx, settings, client.ForceOwnership, client.FieldOwner(fieldOwner))
}
