package buffer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/api/autoscaling/v1beta1"
)

func amounts(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func TestReplicaMaths(t *testing.T) {
	t.Attr("covers", "L342")
	const none = -1
	for name, c := range map[string]struct {
		replicas, percentage, workload int32
		limits                         corev1.ResourceList
		requests                       corev1.ResourceList
		want                           int32
	}{
		"a fixed number":                               {replicas: 3, percentage: none, workload: none, want: 3},
		"a fixed number of zero":                       {replicas: 0, percentage: none, workload: none, want: 0},
		"a percentage":                                 {replicas: none, percentage: 20, workload: 10, want: 2},
		"a percentage is rounded up":                   {replicas: none, percentage: 21, workload: 10, want: 3},
		"a percentage is at least one":                 {replicas: none, percentage: 1, workload: 1, want: 1},
		"a percentage of zero":                         {replicas: none, percentage: 0, workload: 10, want: 0},
		"a percentage above a hundred":                 {replicas: none, percentage: 250, workload: 3, want: 8},
		"a percentage of nothing":                      {replicas: none, percentage: 50, workload: 0, want: 0},
		"a percentage needs a workload":                {replicas: none, percentage: 50, workload: none, want: 0},
		"a huge percentage of a huge workload":         {replicas: none, percentage: 2147483647, workload: 2147483647, want: 2147483647},
		"of both the number, where it is larger":       {replicas: 5, percentage: 20, workload: 10, want: 5},
		"of both the percentage, where it is larger":   {replicas: 1, percentage: 50, workload: 10, want: 5},
		"the number also for a workload of zero":       {replicas: 2, percentage: 50, workload: 0, want: 2},
		"nothing at all":                               {replicas: none, percentage: none, workload: none, want: 0},
		"a workload alone says nothing":                {replicas: none, percentage: none, workload: 4, want: 0},
		"limits alone, rounded down":                   {replicas: none, percentage: none, workload: none, limits: amounts("cpu", "3500m"), requests: amounts("cpu", "1"), want: 3},
		"of several limits the tightest":               {replicas: none, percentage: none, workload: none, limits: amounts("cpu", "10", "memory", "5Gi"), requests: amounts("cpu", "1", "memory", "2Gi"), want: 2},
		"limits below one chunk":                       {replicas: 3, percentage: none, workload: none, limits: amounts("cpu", "500m"), requests: amounts("cpu", "1"), want: 0},
		"a limit of zero":                              {replicas: 3, percentage: none, workload: none, limits: amounts("cpu", "0"), requests: amounts("cpu", "1"), want: 0},
		"a negative limit":                             {replicas: 3, percentage: none, workload: none, limits: amounts("cpu", "-4"), requests: amounts("cpu", "1"), want: 0},
		"limits cap a number":                          {replicas: 9, percentage: none, workload: none, limits: amounts("cpu", "4"), requests: amounts("cpu", "1"), want: 4},
		"limits cap a percentage":                      {replicas: none, percentage: 100, workload: 10, limits: amounts("cpu", "4"), requests: amounts("cpu", "1"), want: 4},
		"a limit that does not bind":                   {replicas: 2, percentage: none, workload: none, limits: amounts("cpu", "400"), requests: amounts("cpu", "1"), want: 2},
		"a resource the chunk does not ask for":        {replicas: 2, percentage: none, workload: none, limits: amounts("memory", "1Gi"), requests: amounts("cpu", "1"), want: 2},
		"nothing but such a resource":                  {replicas: none, percentage: none, workload: none, limits: amounts("memory", "1Gi"), requests: amounts("cpu", "1"), want: 0},
		"a chunk that asks for nothing of it":          {replicas: 2, percentage: none, workload: none, limits: amounts("cpu", "1"), requests: amounts("cpu", "0"), want: 2},
		"thousandths count":                            {replicas: none, percentage: none, workload: none, limits: amounts("cpu", "1"), requests: amounts("cpu", "300m"), want: 3},
		"amounts beyond thousandths in 64 bits":        {replicas: none, percentage: none, workload: none, limits: amounts("memory", "8Ei"), requests: amounts("memory", "1Ei"), want: 7},
		"limits and a workload of zero: no headroom":   {replicas: none, percentage: 50, workload: 0, limits: amounts("cpu", "4"), requests: amounts("cpu", "1"), want: 0},
		"limits and a workload without a percentage":   {replicas: none, percentage: none, workload: 0, limits: amounts("cpu", "4"), requests: amounts("cpu", "1"), want: 4},
		"limits and a percentage without a workload":   {replicas: none, percentage: 50, workload: none, limits: amounts("cpu", "4"), requests: amounts("cpu", "1"), want: 4},
		"a limit beyond 64 bits":                       {replicas: none, percentage: none, workload: none, limits: amounts("memory", "10E"), requests: amounts("memory", "1E"), want: 9},
		"more than there can be":                       {replicas: none, percentage: none, workload: none, limits: amounts("cpu", "9000000000"), requests: amounts("cpu", "1"), want: 2147483647},
		"extended resources count like any":            {replicas: none, percentage: none, workload: none, limits: amounts("example.com/gpu", "5"), requests: amounts("example.com/gpu", "2"), want: 2},
		"a negative number, which admission refuses":   {replicas: -7, percentage: none, workload: none, want: 0},
		"a negative percentage, which it refuses, too": {replicas: none, percentage: -7, workload: 10, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			given := func(n int32) *int32 {
				if n == none {
					return nil
				}
				return &n
			}
			spec := v1beta1.CapacityBufferSpec{Replicas: given(c.replicas), Percentage: given(c.percentage), Limits: c.limits}
			if got := Replicas(spec, Chunk{Workload: given(c.workload)}, c.requests); got != c.want {
				t.Errorf("%d chunks, want %d", got, c.want)
			}
		})
	}
}
