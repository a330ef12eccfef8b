// Package requeue makes the results by which a reconciler asks to run again.
//
// Source: spec shared rules, write discipline.
package requeue

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Soon asks to run again when the rate limiter of the controller allows it. It answers a write conflict.
func Soon() reconcile.Result {
	return reconcile.Result{Requeue: true} //nolint:staticcheck // the limiter is wanted here: conflicts come in bursts
}

// After asks to run again after d. A d of zero does not requeue.
func After(d time.Duration) reconcile.Result { return reconcile.Result{RequeueAfter: d} }

// OnConflict turns the error of a write into the answer of a reconciler: a conflict requeues, an object that no longer exists
// ends the pass, and any other error is returned.
func OnConflict(err error) (reconcile.Result, error) {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return Soon(), nil
	default:
		return reconcile.Result{}, err
	}
}
