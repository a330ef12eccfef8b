package nodeprofile_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeprofile"
)

// TestKubeletOf compares configurations as they are sent.
//
// Source: Azure provider specification, kubelet mapping.
func TestKubeletOf(t *testing.T) {
	for name, test := range map[string]struct {
		kubelet *v1beta1.KubeletConfiguration
		want    string
	}{
		"absent": {nil, `null`},
		"empty":  {&v1beta1.KubeletConfiguration{}, `{}`},
		"all": {
			&v1beta1.KubeletConfiguration{
				CPUManagerPolicy: "static", CPUCFSQuota: new(false),
				CPUCFSQuotaPeriod:           metav1.Duration{Duration: 100 * time.Millisecond},
				ImageGCHighThresholdPercent: new(int32(85)), ImageGCLowThresholdPercent: new(int32(0)),
				TopologyManagerPolicy: "restricted", AllowedUnsafeSysctls: []string{"net.core.somaxconn"},
				ContainerLogMaxSize: "50Mi", ContainerLogMaxFiles: new(int32(5)), PodPidsLimit: new(int64(100)),
				FailSwapOn: new(false),
			},
			`{"cpuManagerPolicy":"static","cpuCfsQuota":false,"cpuCfsQuotaPeriod":"100ms","imageGcHighThreshold":85,` +
				`"imageGcLowThreshold":0,"topologyManagerPolicy":"restricted","allowedUnsafeSysctls":["net.core.somaxconn"],` +
				`"containerLogMaxSizeMB":50,"containerLogMaxFiles":5,"podMaxPids":100,"failSwapOn":false}`,
		},
		"decimal size":     {&v1beta1.KubeletConfiguration{ContainerLogMaxSize: "50M"}, `{"containerLogMaxSizeMB":48}`},
		"gibibytes":        {&v1beta1.KubeletConfiguration{ContainerLogMaxSize: "2Gi"}, `{"containerLogMaxSizeMB":2048}`},
		"size too large":   {&v1beta1.KubeletConfiguration{ContainerLogMaxSize: "9Ei"}, `{"containerLogMaxSizeMB":2147483647}`},
		"no limit of pids": {&v1beta1.KubeletConfiguration{PodPidsLimit: new(int64(-7))}, `{"podMaxPids":-1}`},
		"too many pids":    {&v1beta1.KubeletConfiguration{PodPidsLimit: new(int64(math.MaxInt32 + 1))}, `{"podMaxPids":2147483647}`},
	} {
		got, err := nodeprofile.KubeletOf(&v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{Kubelet: test.kubelet}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		data, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	class := &v1beta1.AKSNodeClass{Spec: v1beta1.AKSNodeClassSpec{Kubelet: &v1beta1.KubeletConfiguration{ContainerLogMaxSize: "much"}}}
	if got, err := nodeprofile.KubeletOf(class); err == nil {
		t.Errorf("a size that is none: %+v", got)
	}
}
