// Package loop holds what every reconcile loop of Karpenter shares: the tools it is built with, how it asks to run
// again, how fast it may retry, and how it recognises a cached object that is older than its own last write.
//
// Source: spec operator, concurrency and rate limits; shared rules, write discipline.
package loop

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

// Tools is what a controller is built from.
type Tools struct {
	// Client reads from the manager's cache and writes to the API server. The cache needs the indexes of package nodelookup.
	Client   client.Client
	Clock    clock.Clock
	Cloud    cloud.Cloud
	Recorder *observe.Recorder
	Metrics  *observe.Metrics
	// Batch goes before what carries out decisions: it is told of plans that are being written, and of commands whose nodes are being
	// deleted. Nil for never.
	Batch *Batch
	// CPUMillis is the CPU that the process may use, in thousandths of a core; worker counts follow it.
	CPUMillis int64
}

// Again asks to run again soon, paced by the rate limiter of the controller. It answers a write conflict.
func Again() reconcile.Result {
	return reconcile.Result{Requeue: true} //nolint:staticcheck // the limiter is wanted here: conflicts come in bursts
}

// After asks to run again after d; a d of zero asks for nothing.
func After(d time.Duration) reconcile.Result { return reconcile.Result{RequeueAfter: d} }

// Settle turns the error of a write into the answer of a reconcile: a conflict means run again, an object that is gone
// means done, anything else is an error.
func Settle(err error) (reconcile.Result, error) {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return Again(), nil
	default:
		return reconcile.Result{}, err
	}
}
