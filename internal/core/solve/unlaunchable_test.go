package solve

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// TestUnlaunchablePools: a pool is named because its own requirements leave nothing, not because a pod requests too much.
func TestUnlaunchablePools(t *testing.T) {
	t.Attr("covers", "L115")
	small := instanceType("small", 2, 4, 0.1)
	excluded, varied, fine := pool("excluded", small), pool("varied", small), pool("fine", small)
	excluded.Requirements = excluded.Requirements.And(requirement.NewSet(requirement.New(archKey, requirement.In, "arm64")))
	varied.Requirements = varied.Requirements.And(requirement.NewSet(
		requirement.New(instanceTypeKey, requirement.Exists).WithMinValues(2),
	))
	for name, asked := range map[string]*model.Shape{"fits": shape(500, gi), "too large": shape(90_000, gi)} {
		t.Run(name, func(t *testing.T) {
			got := Solve(problem(pods(1, asked), excluded, varied, fine)).Unlaunchable
			want := []UnlaunchablePool{{Pool: "excluded"}, {Pool: "varied", MinValues: true}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
