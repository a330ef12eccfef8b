package manager

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// violations collects what checks report.
type violations []string

func (v *violations) add(name, format string, args ...any) {
	*v = append(*v, name+": "+fmt.Sprintf(format, args...))
}

func TestOnlyTheHolderOfTheLeaseMayWrite(t *testing.T) {
	var got violations
	l := &leaders{violated: got.add}
	first, second := &Replica{name: "first"}, &Replica{name: "second"}
	write := operation{method: http.MethodPost, resource: "pods", write: true}
	lease := func(by *Replica, holder string) { l.wrote(by, []byte(`{"spec":{"holderIdentity":"`+holder+`"}}`)) }

	lease(first, "a")
	l.acted(first, write)
	l.acted(nil, write) // the rest of the cluster
	l.acted(second, write)
	lease(first, "")
	l.acted(first, write)
	lease(second, "b")
	l.acted(second, write)
	want := []string{
		"write without the lease: post pods by second, the lease is held by first",
		"write without the lease: post pods by first, the lease is held by none",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if l.changes != 2 {
		t.Errorf("%d holders, want 2", l.changes)
	}
}

func TestRequestsWithoutAnEndAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got violations
		c := newTraffic()
		c.violated = got.add
		r := &Replica{name: "r"}
		for range mostInAMinute + 1 {
			c.count(r, operation{method: http.MethodGet, resource: "nodes"})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		c.count(r, operation{method: http.MethodGet, resource: "nodes"})
		if want := []string{fmt.Sprintf("hot loop: %d requests in a minute: r get nodes", mostInAMinute+1)}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestOperations(t *testing.T) {
	for _, tc := range []struct {
		method, url, want string
		acts              bool
	}{
		{http.MethodGet, "/api/v1/nodes?watch=true", "watch nodes", false},
		{http.MethodGet, "/apis/karpenter.sh/v1", "discovery apis/karpenter.sh/v1", false},
		{http.MethodGet, "/version", "discovery version", false},
		{http.MethodPatch, "/apis/karpenter.sh/v1/nodeclaims/a/status", "patch nodeclaims", true},
		{http.MethodPost, "/api/v1/namespaces/default/pods/p/eviction", "post pods", true},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/karpenter/leases/l", "put leases", false},
		{http.MethodPost, "/api/v1/namespaces/default/events", "post events", false},
	} {
		request, err := http.NewRequestWithContext(t.Context(), tc.method, "http://kube-apiserver"+tc.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if got := kindOf(request); got.String() != tc.want || got.acts() != tc.acts {
			t.Errorf("%s %s is %q, acts %v", tc.method, tc.url, got, got.acts())
		}
	}
}
