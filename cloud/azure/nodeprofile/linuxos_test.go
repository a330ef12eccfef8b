package nodeprofile_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeprofile"
)

// sysctlsOfAKS are the kernel settings with the names of AKS, each with another value.
const sysctlsOfAKS = `{"fsAioMaxNr":1,"fsFileMax":2,"fsInotifyMaxUserWatches":3,"fsNrOpen":4,"kernelThreadsMax":5,
"netCoreNetdevMaxBacklog":6,"netCoreOptmemMax":7,"netCoreRmemDefault":8,"netCoreRmemMax":9,"netCoreSomaxconn":10,
"netCoreWmemDefault":11,"netCoreWmemMax":12,"netIpv4IpLocalPortRange":"1024 65535","netIpv4NeighDefaultGcThresh1":13,
"netIpv4NeighDefaultGcThresh2":14,"netIpv4NeighDefaultGcThresh3":15,"netIpv4TcpFinTimeout":16,
"netIpv4TcpkeepaliveIntvl":17,"netIpv4TcpKeepaliveProbes":18,"netIpv4TcpKeepaliveTime":19,
"netIpv4TcpMaxSynBacklog":20,"netIpv4TcpMaxTwBuckets":21,"netIpv4TcpTwReuse":true,
"netNetfilterNfConntrackBuckets":22,"netNetfilterNfConntrackMax":23,"vmMaxMapCount":24,"vmSwappiness":25,
"vmVfsCachePressure":26}`

// TestLinuxOSOf compares configurations as they are sent, with every kernel setting.
//
// Source: Azure provider specification, sysctls, node-bootstrapping client.
func TestLinuxOSOf(t *testing.T) {
	var next int32
	sysctls := &v1beta1.SysctlConfiguration{}
	for field, value := range reflect.ValueOf(sysctls).Elem().Fields() {
		switch field.Type {
		case reflect.TypeFor[string]():
			value.SetString("1024 65535")
		case reflect.TypeFor[*bool]():
			value.Set(reflect.ValueOf(new(true)))
		default:
			next++
			value.Set(reflect.ValueOf(new(next)))
		}
	}
	for name, test := range map[string]struct {
		config *v1beta1.LinuxOSConfiguration
		want   string
	}{
		"absent":          {nil, `null`},
		"empty":           {&v1beta1.LinuxOSConfiguration{}, `{}`},
		"kernel settings": {&v1beta1.LinuxOSConfiguration{Sysctls: sysctls}, `{"sysctls":` + sysctlsOfAKS + `}`},
		"memory": {
			&v1beta1.LinuxOSConfiguration{
				SwapFileSize: "1500Mi", TransparentHugePageEnabled: "madvise", TransparentHugePageDefrag: "defer+madvise",
			},
			`{"swapFileSizeMB":1500,"transparentHugePageEnabled":"madvise","transparentHugePageDefrag":"defer+madvise"}`,
		},
	} {
		got, err := nodeprofile.LinuxOSOf(&v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{LinuxOSConfig: test.config}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		data, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, test.want), decoded(t, string(data))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	class := &v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{LinuxOSConfig: &v1beta1.LinuxOSConfiguration{SwapFileSize: "much"}}}
	if got, err := nodeprofile.LinuxOSOf(class); err == nil {
		t.Errorf("a size that is none: %+v", got)
	}
}

func decoded(t *testing.T, data string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(data), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
