package template_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/cloud/aws/template"
)

// hung is an EC2 whose calls about one launch template never end.
type hung struct{ name string }

func (h hung) wait(name *string) {
	if *name == h.name {
		select {}
	}
}

func (h hung) DescribeLaunchTemplates(_ context.Context, in *ec2.DescribeLaunchTemplatesInput, _ ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error) {
	h.wait(&in.LaunchTemplateNames[0])
	return &ec2.DescribeLaunchTemplatesOutput{LaunchTemplates: []ec2types.LaunchTemplate{{LaunchTemplateId: &in.LaunchTemplateNames[0]}}}, nil
}

func (h hung) CreateLaunchTemplate(context.Context, *ec2.CreateLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error) {
	return &ec2.CreateLaunchTemplateOutput{}, nil
}

func (h hung) DeleteLaunchTemplate(_ context.Context, in *ec2.DeleteLaunchTemplateInput, _ ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error) {
	h.wait(in.LaunchTemplateId)
	return &ec2.DeleteLaunchTemplateOutput{}, nil
}

func TestHungCallsDelayNoOtherLaunch(t *testing.T) {
	m := template.NewManager(hung{"hung"}, clock.RealClock{}, "test")
	ensure := func(ctx context.Context, name string) error {
		return m.Ensure(ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name})
	}
	ctx, stop := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { first <- ensure(ctx, "hung") }()
	other := make(chan error, 1)
	go func() { other <- ensure(t.Context(), "other") }()
	select {
	case err := <-other:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("a launch waits for the call of another one")
	}
	stop()
	if err := <-first; err == nil {
		t.Error("a launch does not end with its context")
	}
}
