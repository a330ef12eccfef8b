package operator

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// lateServer is an API server that starts to respond, and to serve kinds, after some time.
type lateServer struct {
	start     time.Time
	answers   time.Duration
	served    map[time.Duration]string // kind by the time it is served from
	forbidden bool
	asked     int
}

func (s *lateServer) ServerVersionWithContext(context.Context) (*version.Info, error) {
	s.asked++
	if time.Since(s.start) < s.answers {
		return nil, errors.New("connection refused")
	}
	return &version.Info{GitVersion: "v1.37.1"}, nil
}

func (s *lateServer) ServerResourcesForGroupVersionWithContext(_ context.Context, gv string) (*metav1.APIResourceList, error) {
	s.asked++
	if s.forbidden {
		return nil, apierrors.NewForbidden(schema.GroupResource{}, gv, errors.New("no"))
	}
	list := &metav1.APIResourceList{}
	for from, kind := range s.served {
		if time.Since(s.start) >= from {
			list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
		}
	}
	if len(list.APIResources) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "groupversions"}, gv)
	}
	return list, nil
}

func TestAwait(t *testing.T) {
	t.Attr("covers", "Z245")
	kinds := []schema.GroupVersionKind{v1.SchemeGroupVersion.WithKind("NodePool"), v1.SchemeGroupVersion.WithKind("NodeClaim")}
	both := func(at time.Duration) map[time.Duration]string {
		return map[time.Duration]string{at: "NodePool", at + 1: "NodeClaim"}
	}
	for _, tc := range []struct {
		name   string
		server lateServer
		cancel time.Duration
		within time.Duration
		fails  []string
		logs   []string
	}{
		{name: "at once", server: lateServer{served: both(-time.Second)}, within: 0, logs: []string{"v1.37.1"}},
		{name: "server restarts", server: lateServer{answers: 40 * time.Second, served: both(0)}, within: 46 * time.Second, logs: []string{"does not answer, retrying", "connection refused", "giving-up-in"}},
		{name: "server never answers", server: lateServer{answers: time.Hour}, within: 2 * time.Minute, fails: []string{"https://host", "2m0s", "connection refused", "kubeconfig"}},
		{name: "definitions come late", server: lateServer{served: both(12 * time.Second)}, within: 18 * time.Second, logs: []string{"not installed, waiting", "NodePool.v1.karpenter.sh"}},
		{name: "one definition is missing", server: lateServer{served: map[time.Duration]string{-1: "NodePool"}}, within: 30 * time.Second, fails: []string{"kinds NodeClaim.v1.karpenter.sh are not served", "apply the CustomResourceDefinitions of the Helm chart karpenter-crd"}},
		{name: "all definitions are missing", server: lateServer{}, within: 30 * time.Second, fails: []string{"NodePool.v1.karpenter.sh, NodeClaim.v1.karpenter.sh"}},
		{name: "not allowed to ask", server: lateServer{forbidden: true}, within: 30 * time.Second, fails: []string{"forbidden", "what it serves"}},
		{name: "stopped while waiting", server: lateServer{answers: time.Hour}, cancel: 3 * time.Second, within: 3 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				start := time.Now()
				tc.server.start = start
				if tc.cancel > 0 {
					time.AfterFunc(tc.cancel, cancel)
				}
				var logs bytes.Buffer
				w := waiter{server: &tc.server, host: "https://host", log: slog.New(slog.NewTextHandler(&logs, nil))}
				err := w.forServer(ctx)
				if err == nil {
					err = w.forKinds(ctx, kinds)
				}
				if took := time.Since(start); took > tc.within {
					t.Errorf("took %v, want at most %v", took, tc.within)
				}
				if (err != nil) != (len(tc.fails) > 0) {
					t.Fatalf("error: %v", err)
				}
				for _, want := range tc.fails {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error lacks %q: %v", want, err)
					}
				}
				for _, want := range tc.logs {
					if !strings.Contains(logs.String(), want) {
						t.Errorf("log lacks %q:\n%s", want, &logs)
					}
				}
				if tc.server.asked > 40 {
					t.Errorf("asked %d times", tc.server.asked)
				}
			})
		})
	}
}

func TestKindsOfIncludesNodeClasses(t *testing.T) {
	t.Attr("covers", "Z245")
	class := schema.GroupVersionKind{Group: "karpenter.kwok.sh", Version: "v1alpha1", Kind: "KWOKNodeClass"}
	place := cloud.Cloud{NodeClasses: []cloud.NodeClass{{GVK: class}}}
	got := kindsOf(place, options.FeatureGates{})
	want := []schema.GroupVersionKind{{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"}, {Group: "karpenter.sh", Version: "v1", Kind: "NodeClaim"}, class}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	overlay := schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1alpha1", Kind: "NodeOverlay"}
	if !slices.Contains(kindsOf(place, options.FeatureGates{NodeOverlay: true}), overlay) {
		t.Error("NodeOverlays are not waited for although they are asked for")
	}
	policy := schema.GroupVersionKind{Group: "ops.karpenter.sh", Version: "v1alpha1", Kind: "OperationsPolicy"}
	if !slices.Contains(kindsOf(place, options.FeatureGates{OperationsPolicy: true}), policy) {
		t.Error("OperationsPolicies are not waited for although they are asked for")
	}
	buffer := schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Kind: "CapacityBuffer"}
	if !slices.Contains(kindsOf(place, options.FeatureGates{CapacityBuffer: true}), buffer) {
		t.Error("CapacityBuffers are not waited for although they are asked for")
	}
}

func TestReadinessNoticesDeletedDefinitions(t *testing.T) {
	var logs bytes.Buffer
	server := &lateServer{served: map[time.Duration]string{0: "NodePool", 1: "NodeClaim"}}
	ready := &readiness{}
	ready.attach(&assembled{
		server: server, log: slog.New(slog.NewTextHandler(&logs, nil)),
		kinds: []schema.GroupVersionKind{v1.SchemeGroupVersion.WithKind("NodePool"), v1.SchemeGroupVersion.WithKind("NodeClaim")},
	})
	h := probeHandler(ready)
	probe := func(code int, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz/crd", http.NoBody))
		if w.Code != code || !strings.Contains(w.Body.String(), want) {
			t.Errorf("got %d %q, want %d with %q", w.Code, w.Body, code, want)
		}
	}
	probe(http.StatusOK, "ok")
	server.served = map[time.Duration]string{0: "NodePool"}
	probe(http.StatusInternalServerError, "NodeClaim.v1.karpenter.sh are not served")
	probe(http.StatusInternalServerError, "NodeClaim.v1.karpenter.sh are not served")
	server.forbidden = true // as good as no answer
	probe(http.StatusOK, "ok")
	server.forbidden, server.served = false, map[time.Duration]string{0: "NodePool", 1: "NodeClaim"}
	probe(http.StatusOK, "ok")
	if got := logs.String(); strings.Count(got, "were deleted") != 1 || strings.Count(got, "installed again") != 1 {
		t.Errorf("want one line when definitions go and one when they return, got:\n%s", got)
	}
}
