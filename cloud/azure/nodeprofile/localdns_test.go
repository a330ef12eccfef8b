package nodeprofile_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeprofile"
)

// TestLocalDNSOf compares configurations as they are sent.
//
// Source: Azure provider specification, derived predicates, node-bootstrapping client.
func TestLocalDNSOf(t *testing.T) {
	overrides := []v1beta1.LocalDNSZoneOverride{
		{
			Zone: ".", QueryLogging: "Error", Protocol: "PreferUDP", ForwardDestination: "VnetDNS", ForwardPolicy: "Random",
			MaxConcurrent: new(int32(0)), CacheDuration: v1.NillableDuration{Duration: new(time.Hour)},
			ServeStaleDuration: v1.NillableDuration{Duration: new(90 * time.Second)}, ServeStale: "Verify",
		},
		{Zone: "cluster.local"},
	}
	const zones = `{".":{"queryLogging":"Error","protocol":"PreferUDP","forwardDestination":"VnetDNS","forwardPolicy":"Random",` +
		`"maxConcurrent":0,"cacheDurationInSeconds":3600,"serveStaleDurationInSeconds":90,"serveStale":"Verify"},"cluster.local":{}}`
	for name, test := range map[string]struct {
		localDNS *v1beta1.LocalDNS
		state    v1beta1.LocalDNSState
		want     string
	}{
		"absent":             {nil, "", `null`},
		"required":           {&v1beta1.LocalDNS{Mode: "Required"}, "", `{"mode":"Required"}`},
		"preferred, enabled": {&v1beta1.LocalDNS{Mode: "Preferred"}, v1beta1.LocalDNSStateEnabled, `{"mode":"Required"}`},
		"preferred":          {&v1beta1.LocalDNS{Mode: "Preferred"}, "", `{"mode":"Disabled"}`},
		"overrides of VNet DNS": {
			&v1beta1.LocalDNS{Mode: "Required", VnetDNSOverrides: overrides}, "", `{"mode":"Required","vnetDNSOverrides":` + zones + `}`,
		},
		"overrides of cluster DNS": {
			&v1beta1.LocalDNS{Mode: "Required", KubeDNSOverrides: overrides}, "", `{"mode":"Required","kubeDNSOverrides":` + zones + `}`,
		},
	} {
		class := &v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{LocalDNS: test.localDNS}}
		class.Status.LocalDNSState = test.state
		data, err := json.Marshal(nodeprofile.LocalDNSOf(class))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, test.want), decoded(t, string(data))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
