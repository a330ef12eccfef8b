package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/provider"
	"github.com/karpenter-anew/karpenter/internal/observe"
)

func TestTypesHaveGauges(t *testing.T) {
	t.Attr("covers", "A215")
	account := awstest.New(awstest.Options{Types: []string{"m5.large", "c5.large", "m5.metal"}})
	registry := prometheus.NewRegistry()
	opened, err := open(t.Context(), nil, Settings{ClusterName: "test", Telemetry: &observe.Telemetry{Registry: registry}}, awstest.Connect(t, account))
	if err != nil {
		t.Fatal(err)
	}
	sold := opened.Provider.(*provider.Provider).Catalog.Inventory
	expect := func(want ...string) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range families {
			if !strings.HasPrefix(f.GetName(), "karpenter_cloudprovider_instance_type_") {
				continue
			}
			for _, m := range f.Metric {
				got = append(got, fmt.Sprintf("%s %s %.0f", f.GetName(), m.Label[0].GetValue(), m.Gauge.GetValue()))
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	expect(
		"karpenter_cloudprovider_instance_type_cpu_cores c5.large 2", "karpenter_cloudprovider_instance_type_cpu_cores m5.large 2",
		"karpenter_cloudprovider_instance_type_cpu_cores m5.metal 96",
		"karpenter_cloudprovider_instance_type_memory_bytes c5.large 4294967296", "karpenter_cloudprovider_instance_type_memory_bytes m5.large 8589934592",
		"karpenter_cloudprovider_instance_type_memory_bytes m5.metal 412316860416",
	)
	account.Withdraw("c5.large")
	account.Withdraw("m5.metal")
	if err := sold.RefreshTypes(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("karpenter_cloudprovider_instance_type_cpu_cores m5.large 2", "karpenter_cloudprovider_instance_type_memory_bytes m5.large 8589934592")
}
