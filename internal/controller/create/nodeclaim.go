// Package create writes new NodeClaims, so that a lost answer of the API server never makes two of one.
package create

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

const (
	// createAttempts is how often a write without a clear answer is tried.
	createAttempts = 3
	// suffixLength and longestPrefix are those by which the API server makes names of generateName.
	suffixLength, longestPrefix = 5, 58
)

// errOutcomeUnknown says that nobody knows whether an object was written.
var errOutcomeUnknown = errors.New("it may have been written")

// OutcomeUnknown reports whether a NodeClaim that NodeClaim failed to write may exist nevertheless.
func OutcomeUnknown(err error) bool { return errors.Is(err, errOutcomeUnknown) }

// NodeClaim writes a new NodeClaim. Every one is a machine, and an answer may get lost on its way: who then asked for
// another one would have two. So the name is drawn here and not by the API server, and a write without a clear answer is
// repeated under the same name: if that exists, the write was done. Should there be no clear answer at all, the error is
// OutcomeUnknown and claim has the name under which it may exist.
func NodeClaim(ctx context.Context, c client.Client, claim *v1.NodeClaim) error {
	// Without the finalizer no instance may be launched. A claim that has it from the start needs no second write for it.
	controllerutil.AddFinalizer(claim, v1.TerminationFinalizer)
	var doubt error
	for range createAttempts {
		if doubt == nil {
			claim.Name = draw(claim.GenerateName)
		}
		attempt := claim.DeepCopy()
		err := c.Create(ctx, attempt)
		switch {
		case err == nil:
			*claim = *attempt
			return nil
		case apierrors.IsAlreadyExists(err) && doubt != nil:
			return client.IgnoreAlreadyExists(err) // it is ours
		case unclear(err):
			doubt = err
		case doubt == nil && !apierrors.IsAlreadyExists(err):
			return err
		}
	}
	if doubt == nil {
		return fmt.Errorf("every name that was drawn for %q is taken", claim.GenerateName)
	}
	return fmt.Errorf("creating nodeclaim %q: %w: %w", claim.Name, errOutcomeUnknown, doubt)
}

func draw(prefix string) string {
	return prefix[:min(len(prefix), longestPrefix)] + rand.String(suffixLength)
}

// unclear reports whether a write that was answered with err may have been done. A server that is overloaded, or going away,
// answers as if it had failed, or not at all; a refusal is clear, and so is a connection that never came about.
func unclear(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	return !errors.Is(err, syscall.ECONNREFUSED)
}
