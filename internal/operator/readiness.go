package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// checkTimeout bounds one readiness check, so that a probe fails instead of timing out.
const checkTimeout = 500 * time.Millisecond

// errNotAssembled is the answer of all checks while the process waits for the API server.
var errNotAssembled = errors.New("waiting for the API server and its definitions")

// readiness answers the readiness checks. The zero value is not ready.
type readiness struct {
	manager atomic.Pointer[manager.Manager]
}

// attach makes the checks look at m.
func (r *readiness) attach(m manager.Manager) { r.manager.Store(&m) }

// caches checks that every watch has delivered what exists.
func (r *readiness) caches(request *http.Request) error {
	m := r.manager.Load()
	if m == nil {
		return errNotAssembled
	}
	ctx, cancel := context.WithTimeout(request.Context(), checkTimeout)
	defer cancel()
	if !(*m).GetCache().WaitForCacheSync(ctx) {
		return errors.New("caches are not synced")
	}
	return nil
}

// definitions checks that the API server serves the CRDs of Karpenter.
func (r *readiness) definitions(*http.Request) error {
	m := r.manager.Load()
	if m == nil {
		return errNotAssembled
	}
	for _, kind := range []string{"NodePool", "NodeClaim"} {
		gk := schema.GroupKind{Group: v1.SchemeGroupVersion.Group, Kind: kind}
		if _, err := (*m).GetRESTMapper().RESTMapping(gk, v1.SchemeGroupVersion.Version); err != nil {
			return fmt.Errorf("resolving %s: %w", gk, err)
		}
	}
	return nil
}
