package operator

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/karpenter-anew/karpenter/internal/served"
)

// offeringServer is an API server of a version, with the resources that it serves by group version.
type offeringServer struct {
	minor     string
	resources map[string][]string
}

func (s offeringServer) ServerVersionWithContext(context.Context) (*version.Info, error) {
	if s.minor == "" {
		return nil, errors.New("no version")
	}
	return &version.Info{Major: "1", Minor: s.minor}, nil
}

func (s offeringServer) ServerResourcesForGroupVersionWithContext(_ context.Context, gv string) (*metav1.APIResourceList, error) {
	names, ok := s.resources[gv]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "groupversions"}, gv)
	}
	list := &metav1.APIResourceList{}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	return list, nil
}

func TestOfferIsTheVersionAndTheOptionalResources(t *testing.T) {
	t.Attr("covers", "N420 N460")
	for _, tc := range []struct {
		name   string
		server offeringServer
		want   served.API
	}{
		{"nothing optional", offeringServer{minor: "33"}, served.API{Minor: 33}},
		{"version of a distribution", offeringServer{minor: "36+"}, served.API{Minor: 36}},
		{"version that is no number", offeringServer{minor: "next"}, served.API{}},
		{
			"group without the resource",
			offeringServer{minor: "37", resources: map[string][]string{"scheduling.k8s.io/v1beta1": {"workloads"}}},
			served.API{Minor: 37},
		},
		{
			"everything",
			offeringServer{minor: "37", resources: map[string][]string{
				"scheduling.k8s.io/v1beta1": {"workloads", "podgroups"}, "resource.k8s.io/v1": {"resourceclaims", "devicetaintrules"},
				"storage.k8s.io/v1": {"csidrivers"},
			}},
			served.Everything(),
		},
	} {
		var log bytes.Buffer
		w := waiter{server: tc.server, host: "https://host", log: slog.New(slog.NewTextHandler(&log, nil))}
		got, err := w.forOffer(t.Context())
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tc.name, err, diff)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%s: %d log lines, want one:\n%s", tc.name, n, &log)
		}
		for _, resource := range resourceNames(tc.want.Resources) {
			if !strings.Contains(log.String(), resource) {
				t.Errorf("%s: the log line lacks %s:\n%s", tc.name, resource, &log)
			}
		}
	}
}

func TestOfferFailsWithoutAVersion(t *testing.T) {
	if _, err := offerOf(t.Context(), offeringServer{}); err == nil || !strings.Contains(err.Error(), "reading the version") {
		t.Errorf("got %v", err)
	}
}
