package telemetry_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/telemetry"
)

func TestMetricsMatchTheSpecification(t *testing.T) {
	data, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	for _, d := range telemetry.NewMetrics(prometheus.NewRegistry()).Definitions() {
		got = append(got, fmt.Sprintf("%s %s %s", d.Name, d.Type, strings.Join(d.Labels, ",")))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestFailuresAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := telemetry.NewMetrics(registry)
	vm := telemetry.Created{Image: "/image", Size: "Standard_D2s_v3", Zone: "westus2-1", CapacityType: "spot", NodePool: "general"}
	m.Started(vm)
	m.Failed(vm, telemetry.PhaseSync, "SkuNotAvailable")
	m.Failed(vm, telemetry.PhaseAsync, "")
	const want = `
# HELP karpenter_instance_vm_create_failure_total Virtual machines that Azure did not create: refused at once, or failed later.
# TYPE karpenter_instance_vm_create_failure_total counter
karpenter_instance_vm_create_failure_total{capacity_type="spot",error_code="SkuNotAvailable",image="/image",nodepool="general",phase="sync",size="Standard_D2s_v3",zone="westus2-1"} 1
karpenter_instance_vm_create_failure_total{capacity_type="spot",error_code="UnknownError",image="/image",nodepool="general",phase="async",size="Standard_D2s_v3",zone="westus2-1"} 1
# HELP karpenter_instance_vm_create_start_total Virtual machines that Azure was asked for.
# TYPE karpenter_instance_vm_create_start_total counter
karpenter_instance_vm_create_start_total{capacity_type="spot",image="/image",nodepool="general",size="Standard_D2s_v3",zone="westus2-1"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func TestErrorsInEventsAreShort(t *testing.T) {
	t.Attr("covers", "Z210")
	claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "general-abcde", UID: "uid"}}
	event := telemetry.AsyncProvisioningError(claim, errors.New(strings.Repeat("long ", 500)))
	if !strings.HasPrefix(event.Message, "Failed to register: long ") || len(event.Message) > 520 || event.Reason != "AsyncProvisioningError" {
		t.Errorf("the event is %q with %d bytes: %s", event.Reason, len(event.Message), event.Message)
	}
	for n := range 4 { // the cut is in each of the bytes of a character
		event := telemetry.AsyncProvisioningError(claim, errors.New(strings.Repeat("x", n)+strings.Repeat("€", 400)))
		if !utf8.ValidString(event.Message) || len(event.Message) > 530 || len(event.Message) < 480 {
			t.Errorf("an event with %d bytes: %q", len(event.Message), event.Message)
		}
	}
}
