package solve

import (
	"fmt"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/catalog"
	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// manyPools is n pods for as many NodePools as given, each with limits and twenty full nodes.
func manyPools(n, pools int) Problem {
	cat := []*catalog.InstanceType{instanceType("small", 2, 8, 0.1), instanceType("large", 16, 64, 0.8)}
	in := problem(pods(n, shape(500, gi)))
	for i := range pools {
		p := pool(fmt.Sprintf("pool-%04d", i), cat...)
		p.Limits = map[int]int64{resource.CPU: 1_000_000, resource.Memory: 1 << 50}
		in.Pools = append(in.Pools, p)
		for k := range 20 {
			node := existing(fmt.Sprintf("node-%d-%d", i, k))
			node.Pool, node.Capacity = p.Name, resource.Vector{resource.CPU: 2000, resource.Memory: 8 * gi, resource.Pods: 110}
			node.Allocatable, node.Used = node.Capacity, node.Capacity
			in.Nodes = append(in.Nodes, node)
		}
	}
	return in
}

// BenchmarkManyPools shows that a plan takes time that grows with the number of NodePools and nodes, not with their product.
func BenchmarkManyPools(b *testing.B) {
	for _, pools := range []int{100, 300, 1000} {
		b.Run(fmt.Sprint(pools), func(b *testing.B) {
			in := manyPools(100, pools)
			b.ReportAllocs()
			for b.Loop() {
				if plan := Solve(in); len(plan.Unschedulable) > 0 {
					b.Fatalf("%d unschedulable: %v", len(plan.Unschedulable), plan.Unschedulable[0].Reasons)
				}
			}
		})
	}
}
