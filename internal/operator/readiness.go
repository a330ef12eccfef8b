package operator

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// checkTimeout bounds one readiness check, so that a probe fails instead of timing out.
const checkTimeout = 500 * time.Millisecond

// errNotAssembled is the answer of all checks while the process waits for the API server.
var errNotAssembled = errors.New("waiting for the API server and its definitions")

// readiness answers the readiness checks. The zero value is not ready.
type readiness struct {
	assembled atomic.Pointer[assembled]
}

// assembled is what the checks look at.
type assembled struct {
	manager manager.Manager
	server  discoverer
	kinds   []schema.GroupVersionKind // whose definitions must be served
	log     *slog.Logger
	missing atomic.Bool // whether the last answer of the server lacked a kind
}

// attach makes the checks look at a.
func (r *readiness) attach(a *assembled) { r.assembled.Store(a) }

// caches checks that every watch has delivered what exists.
func (r *readiness) caches(request *http.Request) error {
	a := r.assembled.Load()
	if a == nil {
		return errNotAssembled
	}
	ctx, cancel := context.WithTimeout(request.Context(), checkTimeout)
	defer cancel()
	if !a.manager.GetCache().WaitForCacheSync(ctx) {
		return errors.New("caches are not synced")
	}
	return nil
}

// definitions checks that the API server serves the CRDs of Karpenter and of the cloud provider. It asks each time, because definitions can
// be deleted while the process runs, after which caches keep their last content without a word. A server that does not answer says nothing
// about definitions: the check passes then.
func (r *readiness) definitions(request *http.Request) error {
	a := r.assembled.Load()
	if a == nil {
		return errNotAssembled
	}
	ctx, cancel := context.WithTimeout(request.Context(), checkTimeout)
	defer cancel()
	missing, err := missingKinds(ctx, a.server, a.kinds)
	if err != nil {
		return nil // outages are logged elsewhere
	}
	if len(missing) == 0 {
		if a.missing.Swap(false) {
			a.log.Info("CustomResourceDefinitions are installed again")
		}
		return nil
	}
	if !a.missing.Swap(true) {
		a.log.Error("CustomResourceDefinitions were deleted: apply those of the Helm chart karpenter-crd of this version; until then, objects of these kinds are neither read nor written", logfield.Missing(missing))
	}
	return &missingError{kinds: missing}
}
