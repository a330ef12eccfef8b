// Package create creates NodeClaims so that a lost response of the API server does not create a second one, and logs each creation
// before the launch.
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
	"github.com/karpenter-anew/karpenter/internal/core/policy"
)

const (
	// createAttempts is the number of attempts of a write without a clear response.
	createAttempts = 3
	// suffixLength and maxPrefix are those of the API server for generateName.
	suffixLength, maxPrefix = 5, 58
)

// Admission decides which NodeClaims may be created.
type Admission interface {
	// Reserve reserves what a NodeClaim would use, or returns why it may not be created. settle is called once: with the name of the
	// NodeClaim that exists, or may exist, or without a name if it does not.
	Reserve(ctx context.Context, claim *v1.NodeClaim) (settle func(name string), err error)
	// Of are the caps on the cost of NodePools by name, and what is used of them.
	Of(ctx context.Context, pools []*v1.NodePool) (map[string][]policy.UsedCap, error)
}

// errOutcomeUnknown means that the object may or may not have been written.
var errOutcomeUnknown = errors.New("it may have been written")

// OutcomeUnknown reports whether a NodeClaim that NodeClaim failed to write may exist nevertheless.
func OutcomeUnknown(err error) bool { return errors.Is(err, errOutcomeUnknown) }

// NodeClaim creates a NodeClaim. Each one becomes an instance, so a retry after a lost response must not create a second one. So the
// name is generated here instead of by the API server, and a write without a clear response is repeated with the same name: if it
// exists, the write succeeded. Without any clear response the error is OutcomeUnknown and claim has the name under which it may exist.
//
// logCreated logs the creation. It is called once for a NodeClaim that exists, here or by Exists, and not for others.
func (c *Creations) NodeClaim(ctx context.Context, api client.Client, claim *v1.NodeClaim, logCreated func(name string)) (err error) {
	if c != nil && c.Admission != nil {
		settle, refused := c.Admission.Reserve(ctx, claim)
		if refused != nil {
			return refused
		}
		defer func() {
			if err == nil || OutcomeUnknown(err) {
				settle(claim.Name)
			} else {
				settle("")
			}
		}()
	}
	return c.nodeClaim(ctx, api, claim, logCreated)
}

// nodeClaim is NodeClaim without Admission.
func (c *Creations) nodeClaim(ctx context.Context, api client.Client, claim *v1.NodeClaim, logCreated func(name string)) error {
	// No instance may be launched without the finalizer. Setting it here saves a second write.
	controllerutil.AddFinalizer(claim, v1.TerminationFinalizer)
	var unknown error
	for range createAttempts {
		if unknown == nil {
			claim.Name = generateName(claim.GenerateName)
			c.begin(claim.Name, logCreated)
		}
		attempt := claim.DeepCopy()
		err := api.Create(ctx, attempt)
		switch {
		case err == nil:
			c.Exists(claim.Name)
			*claim = *attempt
			return nil
		case apierrors.IsAlreadyExists(err) && unknown != nil:
			c.Exists(claim.Name)
			return client.IgnoreAlreadyExists(err) // an earlier attempt created it
		case unclear(err):
			unknown = err
		case unknown == nil:
			c.forget(claim.Name)
			if !apierrors.IsAlreadyExists(err) {
				return err
			}
		}
	}
	if unknown == nil {
		return fmt.Errorf("every name generated for %q exists already", claim.GenerateName)
	}
	return fmt.Errorf("creating nodeclaim %q: %w: %w", claim.Name, errOutcomeUnknown, unknown)
}

func generateName(prefix string) string {
	return prefix[:min(len(prefix), maxPrefix)] + rand.String(suffixLength)
}

// unclear reports whether a write that returned err may have succeeded. A server that is overloaded or shutting down may return an
// internal error, or nothing; a refused request is clear, and so is a refused connection.
func unclear(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	return !errors.Is(err, syscall.ECONNREFUSED)
}
