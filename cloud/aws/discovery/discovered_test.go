package discovery_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
)

func TestOnlyNewsAreLogged(t *testing.T) {
	w := newWorld(t, awstest.Options{})
	var out bytes.Buffer
	ctx := log.IntoContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	class := w.class(awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{Tags: tags("karpenter.sh/discovery", "test")}},
		SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Tags: tags("karpenter.sh/discovery", "test")}},
		AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "bottlerocket@latest"}},
	})
	class.Name = "default"
	look := func(want ...string) {
		t.Helper()
		out.Reset()
		if _, err := w.Subnets(ctx, class); err != nil {
			t.Fatal(err)
		}
		if _, err := w.SecurityGroups(ctx, class); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Images(ctx, class, "1.34"); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(out.String(), "\n"); lines != len(want) || strings.Count(out.String(), "level=DEBUG") != lines {
			t.Errorf("%d lines, want %d:\n%s", lines, len(want), out.String())
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%q is missing:\n%s", text, out.String())
			}
		}
		w.clock.Step(2 * time.Minute) // all is asked for again
	}
	const parameter = "discovered ssm parameter"
	look("discovered subnets", "discovered security groups", "discovered amis", parameter, parameter, parameter, parameter)
	look()
	w.AddSubnet(awstest.Subnet{ID: "subnet-new", Zone: "us-east-1a", Tags: tags("karpenter.sh/discovery", "test")})
	look("subnet-new")
}
