// Package controller lists the controllers of the process; each concern has a folder below it.
package controller

import (
	"log/slog"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/cluster"
	"github.com/karpenter-anew/karpenter/internal/controller/autoscaler"
	"github.com/karpenter-anew/karpenter/internal/controller/deletioncost"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/disruption"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeclaim"
	"github.com/karpenter-anew/karpenter/internal/controller/nodeoverlay"
	"github.com/karpenter-anew/karpenter/internal/controller/nodepool"
	"github.com/karpenter-anew/karpenter/internal/controller/operationspolicy"
	"github.com/karpenter-anew/karpenter/internal/controller/provisioning"
	"github.com/karpenter-anew/karpenter/internal/controller/reboot"
	"github.com/karpenter-anew/karpenter/internal/controller/static"
	"github.com/karpenter-anew/karpenter/internal/controller/termination"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/podlatency"
	"github.com/karpenter-anew/karpenter/internal/prediction"
	"github.com/karpenter-anew/karpenter/internal/served"
	"github.com/karpenter-anew/karpenter/internal/translate"
)

// Controller is something that runs: a reconcile loop, a watch, a periodic task.
type Controller interface {
	// Register adds it to the manager, which starts and stops it.
	Register(manager.Manager) error
}

// Parts is what controllers are built from.
type Parts struct {
	// Manager gives caches and uncached reads. Do not register with it here.
	Manager manager.Manager
	// Client reads from the cache and writes to the API server; its calls survive a stop for the grace time.
	Client client.Client
	// Clock is the real one.
	Clock clock.Clock
	// Cloud is the adapter, with its calls counted.
	Cloud cloud.Cloud
	// Recorder publishes events.
	Recorder *observe.Recorder
	// StatusRecorder publishes changes of conditions. There are many of these in a scale-up, and a broadcaster whose queue is full drops
	// what comes next: they have their own, so that neither loses events to the other.
	StatusRecorder *observe.Recorder
	// Metrics are registered already.
	Metrics *observe.Metrics
	// Log is the root logger.
	Log *slog.Logger
	// Options are the parsed settings.
	Options options.Options
	// Served is what the API server offers.
	Served served.API
	// Admission verifies approvals of disruption; nil where nothing does.
	Admission disruption.Admission
	// Notifier is told what happens to disruption; nil if nothing is.
	Notifier Notifier
	// Ledger has the decisions; the zero value records nothing.
	Ledger Ledger
	// SimulationWorkers is how many simulations of disruption run at a time; 0 for what suits the processors.
	SimulationWorkers int
}

// Notifier is told what happens to disruption plans and commands.
type Notifier = disruption.Notifier

// All builds all controllers of the process. It is the only list of them.
func All(p Parts) ([]Controller, error) {
	shared := deps.New(p.Client, p.Clock)
	shared.Cloud, shared.Recorder, shared.Metrics = p.Cloud, p.Recorder, p.Metrics
	shared.Live, shared.CPUMillis = p.Manager.GetAPIReader(), p.Options.Process.CPURequests
	var gated []Controller
	if p.Options.FeatureGates.NodeOverlay {
		corrected, judge := nodeoverlay.Decorate(shared)
		p.Cloud, shared.Cloud = corrected, corrected
		gated = append(gated, judge)
	}
	gated = append(gated, recordDecisions(&shared, p)...)
	waits, predictions := &podlatency.Tracker{}, &prediction.Store{}
	gated = append(append(gated, legacyControllers(shared, p.Options.FeatureGates)...), featureGateControllers(shared, p.Options.FeatureGates)...)
	gated = append(gated, meteringControllers(shared, p, waits)...)
	translator := newTranslator(p)
	store := newStore(p, translator)
	repairs, legacy, err := withRepair(shared, p, store)
	if err != nil {
		return nil, err
	}
	gated = append(gated, legacy...)
	health := nodepool.NewRegistrationHealth(shared)
	lifecycle := newLifecycle(shared, p, health)
	if p.Options.FeatureGates.NominatedNodeName {
		gated = append(gated, lifecycle.NominatePods())
	}
	feed := cluster.NewWatcher(store, p.Clock)
	if p.Options.FeatureGates.StaticCapacity {
		gated = append(gated, staticControllers(static.Deps{Shared: shared, Store: store, Translator: translator, Ready: feed.Ready})...)
	}
	if p.Options.FeatureGates.OperationsPolicy {
		gated = append(gated, operationspolicy.Apply(shared))
	}
	provisioner, planners := newProvisioner(p, shared, provisioning.Deps{
		Shared: shared, Store: store, Feed: feed, Translator: translator, Log: p.Log,
		Scheduling: p.Options.Scheduling, Gates: p.Options.FeatureGates, PodLatency: waits,
	})
	gated = append(gated, deletionCostControllers(shared, p, store, feed)...)
	evictions := termination.NewEvictionQueue(shared)
	gated = append(gated, claimControllers(shared, lifecycle)...)
	return append(append(gated, planners...), []Controller{
		feed,
		cluster.NewGauges(store, feed, p.Metrics, p.Log, p.Clock),
		disruption.New(disruption.Deps{
			Shared: shared, Store: store, Feed: feed, Translator: translator, Log: p.Log,
			Scheduling: p.Options.Scheduling, Gates: p.Options.FeatureGates, Predictions: predictions, Quarantine: provisioner.Quarantine,
			Repair: repairs, Admission: p.Admission, Notifier: p.Notifier, Workers: p.SimulationWorkers,
		}),
		lifecycle,
		termination.New(shared, evictions),
		reboot.New(shared, evictions),
		evictions,
		nodepool.NewHash(shared),
		nodepool.NewValidation(shared, translator, p.Options.FeatureGates),
		nodepool.NewReadiness(shared),
		nodepool.NewUnsupportedClass(shared),
		nodepool.NewCounter(shared, cluster.NewUsage(store, feed)),
		nodepool.NewCost(shared, cluster.NewUsage(store, feed), p.Log),
		autoscaler.New(shared.Live, p.Clock, predictions, p.Log),
		health,
	}...), nil
}

// newLifecycle builds the controller of the life of NodeClaims. Where devices are planned, it waits for their drivers.
func newLifecycle(shared deps.Shared, p Parts, health *nodepool.RegistrationHealth) *nodeclaim.Lifecycle {
	lifecycle := nodeclaim.NewLifecycle(shared, health)
	if !p.Options.Scheduling.IgnoreDRARequests {
		lifecycle.AwaitDrivers()
		if p.Served.Minor >= served.ExtendedResourcesMinor {
			lifecycle.ServeExtendedResources(newTranslator(p))
		}
	}
	return lifecycle
}

// staticControllers keep static NodePools at their number of nodes.
func staticControllers(d static.Deps) []Controller {
	return []Controller{static.NewProvisioning(d), static.NewDeprovisioning(d)}
}

// deletionCostControllers rank pods for the ReplicaSets that own them.
func deletionCostControllers(shared deps.Shared, p Parts, store *cluster.Store, feed *cluster.Watcher) []Controller {
	if !p.Options.FeatureGates.PodDeletionCostManagement {
		return nil
	}
	queue := deletioncost.NewQueue(shared)
	return []Controller{deletioncost.New(deletioncost.Deps{Shared: shared, Store: store, Ready: feed.Ready, Log: p.Log, Queue: queue}), queue}
}

// claimControllers are those of single NodeClaims and their instances, beside the lifecycle.
func claimControllers(shared deps.Shared, lifecycle *nodeclaim.Lifecycle) []Controller {
	return []Controller{
		nodeclaim.NewDisruption(shared),
		nodeclaim.NewPodEvents(shared),
		nodeclaim.NewExpiration(shared),
		nodeclaim.NewConsistency(shared),
		nodeclaim.NewHydration(shared),
		nodeclaim.NewNodeHydration(shared),
		nodeclaim.NewGarbage(shared),
		nodeclaim.NewInstanceGarbage(shared, lifecycle),
	}
}

// newTranslator returns the translator for what the API server offers.
func newTranslator(p Parts) *translate.Translator {
	return translate.NewWith(p.Cloud.Labels, translate.Settings{
		IgnorePreferences:   p.Options.Scheduling.PreferencePolicy == options.PreferenceIgnore,
		Minor:               p.Served.Minor,
		CompareTolerations:  p.Options.FeatureGates.TaintTolerationComparisonOperators,
		RankedDeletionCosts: p.Options.FeatureGates.PodDeletionCostManagement,
	})
}

// newStore returns the empty cluster state. It follows what the API server serves.
func newStore(p Parts, translator *translate.Translator) *cluster.Store {
	store := cluster.NewStore(p.Cloud, translator)
	store.DefaultSpread.Set(p.Options.Scheduling.Config.DefaultConstraints())
	if p.Served.Has(served.PodGroups) && p.Options.Scheduling.PodGroups == options.PodGroupsAuto {
		store.PodGroups.Track()
	}
	if p.Served.Has(served.CSIDrivers) {
		store.Volumes.TrackDrivers()
	}
	if !p.Options.Scheduling.IgnoreDRARequests {
		store.Devices.Track()
		if p.Served.Minor >= served.ExtendedResourcesMinor {
			store.Devices.TrackExtendedResources()
		}
		if p.Served.Has(served.DeviceTaintRules) {
			store.Devices.TrackTaintRules()
		}
	}
	return store
}
