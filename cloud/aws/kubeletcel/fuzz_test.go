package kubeletcel_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-anew/karpenter/api/quantity"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubelet"
	"github.com/karpenter-anew/karpenter/cloud/aws/kubeletcel"
)

// FuzzExpressions checks that an expression is refused, or gives a number of pods that a kubelet takes and quantities that can be read, in a
// moment: its cost is limited.
func FuzzExpressions(f *testing.F) {
	for _, seed := range []string{
		"110", "vcpus * 8", "min(110, default_enis * (ips_per_eni - 1) + 2)", "1 / 0", "9223372036854775807 + 1", "0.0 / 0.0 > 1.0 ? 1 : 0", "double('NaN')", "int(1e300)",
		"[1,2,3,4,5,6,7,8,9].map(a, [1,2,3,4,5,6,7,8,9].map(b, [1,2,3,4,5,6,7,8,9].map(c, a*b*c))).size()", "size(instance_type + instance_type)", "instance_type.matches('(a*)*b') ? 1 : 2",
		strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300), strings.Repeat("1+", 2000) + "1", strings.Repeat("{1:", 240) + "1" + strings.Repeat("}", 240) + ".size()", "duration('1s').getSeconds()", "1e999999999", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		config := kubelet.Config{MaxPods: new(intstr.FromString(text)), KubeReserved: map[string]string{"cpu": text, "memory": text}}
		compiled, err := kubeletcel.Compile(config)
		if err != nil {
			return
		}
		if got, err := compiled.Pods(m5); err == nil && (got.MaxPods.Type != intstr.Int || got.MaxPods.IntVal < 0) {
			t.Errorf("%q gives %s pods", text, got.MaxPods)
		}
		reserved, _, _ := compiled.Reserved(m5)
		for name, amount := range reserved {
			if q, err := quantity.Parse(amount); err != nil || q.Sign() < 0 && amount != text {
				t.Errorf("%q gives %s of %s: %v", text, amount, name, err)
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%q takes %s", text, took)
		}
	})
}
