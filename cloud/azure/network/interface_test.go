package network_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v6"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/azure/instancetype"
	"github.com/karpenter-anew/karpenter/cloud/azure/network"
)

// server answers requests in memory.
type server func(*http.Request) (int, string)

// Do implements policy.Transporter.
func (s server) Do(r *http.Request) (*http.Response, error) {
	status, body := s(r)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// create sends the request that creates a network interface, with Microsoft's client.
func create(t *testing.T, to server, body armnetwork.Interface) error {
	t.Helper()
	api, err := armnetwork.NewInterfacesClient("sub", &azfake.TokenCredential{}, &arm.ClientOptions{ClientOptions: policy.ClientOptions{Transport: to}, DisableRPRegistration: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.BeginCreateOrUpdate(t.Context(), group, "aks-c", body, nil)
	return err
}

// refusal is the error with which Azure refuses a network interface.
func refusal(t *testing.T, code, message string) error {
	t.Helper()
	body, err := json.Marshal(map[string]any{"error": map[string]string{"code": code, "message": message}})
	if err != nil {
		t.Fatal(err)
	}
	return create(t, func(*http.Request) (int, string) { return http.StatusBadRequest, string(body) }, armnetwork.Interface{})
}

// TestInterfaceBody compares what is sent with the vectors of the specification.
func TestInterfaceBody(t *testing.T) {
	t.Attr("covers", "Z107 Z108 Z109")
	first := `{"name":"aks-c","properties":{"primary":true,"privateIPAllocationMethod":"Dynamic","subnet":{"id":"S"},"loadBalancerBackendAddressPools":[{"id":"P"},{"id":"Q"}]}}`
	others := ""
	for n := 1; n <= 29; n++ {
		others += fmt.Sprintf(`,{"name":"ipconfig%d","properties":{"primary":false,"privateIPAllocationMethod":"Dynamic","subnet":{"id":"S"}}}`, n)
	}
	const all = `{"location":"L","tags":{"k":"v"},"properties":{"enableAcceleratedNetworking":true,"enableIPForwarding":false,"networkSecurityGroup":{"id":"N"},"ipConfigurations":[%s]}}`
	for _, test := range []struct {
		plugin instancetype.Network
		pods   int32
		change func(*network.InterfaceSpec)
		want   string
	}{
		{instancetype.Network{Plugin: "azure", Mode: "overlay"}, 250, nil, fmt.Sprintf(all, first)},
		{instancetype.Network{Plugin: "none"}, 250, nil, fmt.Sprintf(all, first)},
		{instancetype.Network{Plugin: "azure"}, 30, nil, fmt.Sprintf(all, first+others)},
		{instancetype.Network{Plugin: "azure"}, 1, nil, fmt.Sprintf(all, first)},
		{
			instancetype.Network{Plugin: "none"},
			250,
			func(s *network.InterfaceSpec) {
				s.Accelerated, s.Tags, s.Attachment = false, nil, network.Attachment{SubnetID: "S"}
			},
			`{"location":"L","properties":{"enableAcceleratedNetworking":false,"enableIPForwarding":false,` +
				`"ipConfigurations":[{"name":"aks-c","properties":{"primary":true,"privateIPAllocationMethod":"Dynamic","subnet":{"id":"S"}}}]}}`,
		},
	} {
		spec := &network.InterfaceSpec{
			Name: "aks-c", Location: "L", Tags: map[string]string{"k": "v"}, Accelerated: true, Plugin: test.plugin, MaxPods: test.pods,
			Attachment: network.Attachment{SubnetID: "S", Pools: network.Pools{IDs: []string{"P", "Q"}}, SecurityGroupID: "N"},
		}
		if test.change != nil {
			test.change(spec)
		}
		var sent []byte
		err := create(t, func(r *http.Request) (int, string) {
			var err error
			if sent, err = io.ReadAll(r.Body); err != nil {
				t.Error(err)
			}
			return http.StatusOK, `{"properties":{"provisioningState":"Succeeded"}}`
		}, network.InterfaceBody(spec))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(decoded(t, []byte(test.want)), decoded(t, sent)); diff != "" {
			t.Errorf("%+v, %d pods (-want +got)\n%s", test.plugin, test.pods, diff)
		}
	}
}

func decoded(t *testing.T, data []byte) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return out
}

// reader is a cluster with one Service, or an error.
type reader struct {
	client.Reader
	ip  string
	err error
}

// Get implements client.Reader.
func (r reader) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	service, ok := object.(*corev1.Service)
	if !ok || key.String() != "kube-system/kube-dns" {
		return errors.New("unexpected read of " + key.String())
	}
	service.Spec.ClusterIP = r.ip
	return r.err
}

func TestDNSServiceIP(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "kube-dns", errors.New("no"))
	for _, test := range []struct {
		set     string
		cluster reader
		want    string
		fails   bool
	}{
		{"10.9.0.10", reader{err: refused}, "10.9.0.10", false},
		{"", reader{ip: "10.2.0.10"}, "10.2.0.10", false},
		{"", reader{ip: corev1.ClusterIPNone}, "10.0.0.10", false},
		{"", reader{}, "10.0.0.10", false},
		{"", reader{err: apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, "kube-dns")}, "10.0.0.10", false},
		{"", reader{err: refused}, "", true},
	} {
		got, err := network.DNSServiceIP(t.Context(), test.cluster, test.set)
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
	}
}

func TestVirtualNetworkGUID(t *testing.T) {
	overlay := instancetype.Network{Plugin: "azure", Mode: "overlay"}
	known := &armnetwork.VirtualNetwork{Properties: &armnetwork.VirtualNetworkPropertiesFormat{ResourceGUID: to.Ptr("found")}}
	for _, test := range []struct {
		set, subnet string
		plugin      instancetype.Network
		network     *armnetwork.VirtualNetwork
		want, fails string
	}{
		{"set", custom, overlay, known, "set", ""},
		{"", custom, overlay, known, "found", ""},
		{"", custom, instancetype.Network{Plugin: "azure"}, nil, "", ""},
		{"", custom, overlay, nil, "", "ResourceNotFound"},
		{"", custom, overlay, &armnetwork.VirtualNetwork{}, "", "no GUID"},
		{"", "subnet", overlay, known, "", "not the id of a subnet"},
	} {
		a := &azure{network: test.network}
		got, err := network.VirtualNetworkGUID(t.Context(), a.open(t).VirtualNetworks, test.set, test.subnet, test.plugin)
		if got != test.want || (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
}
