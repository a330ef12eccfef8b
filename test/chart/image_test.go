package chart

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

const (
	upstreamRepository = "controller.image.repository=public.ecr.aws/karpenter/controller"
	cachedRepository   = "controller.image.repository=012345678901.dkr.ecr.eu-west-1.amazonaws.com/ecr-public/karpenter/controller"
	ownRepository      = "controller.image.repository=registry.example.com/karpenter"

	digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// TestImagesThatAreNotMeantAreRefused: values of upstream's chart do not start upstream's controller, and a digest that is left over
// does not decide in place of a tag. The message names the image and the remedy.
func TestImagesThatAreNotMeantAreRefused(t *testing.T) {
	const remedy = "--set controller.image.repository=YOUR/REPOSITORY --set controller.image.tag=0.1.0 --set controller.image.digest="
	for name, tc := range map[string]struct {
		set  []string
		want []string
	}{
		"values of upstream": {
			[]string{upstreamRepository, "controller.image.tag=1.14.1", "controller.image.digest=" + digest},
			[]string{"public.ecr.aws/karpenter/controller:1.14.1@" + digest, "an image of upstream Karpenter", remedy},
		},
		"repository of upstream only": {[]string{upstreamRepository}, []string{"public.ecr.aws/karpenter/controller, an image of upstream Karpenter", remedy}},
		"repository of upstream with our tag": {
			[]string{upstreamRepository, "controller.image.tag=0.1.0"}, []string{"an image of upstream Karpenter"},
		},
		"proxy of the public registry": {
			[]string{"controller.image.repository=proxy.example.com/public.ecr.aws/karpenter/controller"}, []string{"an image of upstream Karpenter"},
		},
		"mirror with values of upstream": {
			[]string{cachedRepository, "controller.image.tag=1.14.1", "controller.image.digest=" + digest},
			[]string{"ecr-public/karpenter/controller:1.14.1@" + digest, "an image of upstream Karpenter", remedy},
		},
		"mirror with a tag":    {[]string{cachedRepository, "controller.image.tag=v0.37.0"}, []string{":v0.37.0, an image of upstream Karpenter", "set no digest, and a tag that is 0.1.0 or no version"}},
		"mirror with a digest": {[]string{cachedRepository, "controller.image.digest=" + digest}, []string{"an image of upstream Karpenter"}},
		"digest left over under a tag": {
			[]string{ownRepository, "controller.image.digest=" + digest, "controller.image.tag=0.2.0"},
			[]string{"controller.image.tag is 0.2.0", "controller.image.digest is " + digest, "--set controller.image.digest= to run the tag", "--set controller.image.tag= to run the digest"},
		},
		"digest left over under a tag that moves": {
			[]string{ownRepository, "controller.image.digest=" + digest, "controller.image.tag=latest"}, []string{"controller.image.tag is latest"},
		},
		"two problems": {
			[]string{upstreamRepository, "controller.metrics.port=9000", "controller.healthProbe.port=9000"},
			[]string{"an image of upstream Karpenter", "\n", "controller.metrics.port and controller.healthProbe.port are both 9000"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := named(append(tc.set, "settings.clusterName=one")...).text()
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

// TestImagesThatAreMeantRender: a tag alone and a digest alone choose the image, also in place of values of upstream.
func TestImagesThatAreMeantRender(t *testing.T) {
	for name, tc := range map[string]struct {
		set  []string
		want string
	}{
		"defaults":               {nil, "ghcr.io/karpenter-anew/karpenter:0.1.0"},
		"tag":                    {[]string{"controller.image.tag=0.2.0"}, "ghcr.io/karpenter-anew/karpenter:0.2.0"},
		"digest":                 {[]string{"controller.image.digest=" + digest}, "ghcr.io/karpenter-anew/karpenter:0.1.0@" + digest},
		"default tag and digest": {[]string{"controller.image.tag=0.1.0", "controller.image.digest=" + digest}, "ghcr.io/karpenter-anew/karpenter:0.1.0@" + digest},
		"repository and tag":     {[]string{ownRepository, "controller.image.tag=latest"}, "registry.example.com/karpenter:latest"},
		"digest taken away": {
			[]string{ownRepository, "controller.image.digest=" + digest, "controller.image.tag=0.2.0", "controller.image.digest="},
			"registry.example.com/karpenter:0.2.0",
		},
		"tag taken away": {
			[]string{ownRepository, "controller.image.tag=1.14.1", "controller.image.digest=" + digest, "controller.image.tag="},
			"registry.example.com/karpenter:0.1.0@" + digest,
		},
		"own image in a repository like a mirror": {
			[]string{"controller.image.repository=registry.example.com/karpenter/controller", "controller.image.tag=0.1.0"},
			"registry.example.com/karpenter/controller:0.1.0",
		},
		"own build in a repository like a mirror": {
			[]string{"controller.image.repository=registry.example.com/karpenter/controller", "controller.image.tag=main-4f2a"},
			"registry.example.com/karpenter/controller:main-4f2a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := named(append(tc.set, "settings.clusterName=one")...)
			if got := the[*appsv1.Deployment](t, r.objects(t), "").Spec.Template.Spec.Containers[0].Image; got != tc.want {
				t.Errorf("the image is %s, want %s", got, tc.want)
			}
		})
	}
}
