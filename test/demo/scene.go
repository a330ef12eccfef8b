package main

import (
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/demo"
)

// play is a running scene on a real control plane.
type play struct {
	*demo.Play
	*stack
}

// scene is a demonstration; those of a provider with a test server have onCloud in place of Perform.
type scene struct {
	demo.Scene
	onCloud func(*play) (fmt.Stringer, error)
}

// play performs the scene.
func (s scene) play(p *play) (fmt.Stringer, error) {
	if s.onCloud != nil {
		return s.onCloud(p)
	}
	return s.Perform(p.Play)
}

// sceneOf is the selected scene, or the default if there is none of that name. AWS and Azure have their own scenes.
func sceneOf(s settings) scene {
	switch {
	case s.cloud == cloudAWS && s.scene == stormName:
		return stormScene()
	case s.cloud != cloudKwok && s.scene == driftName:
		return cloudDriftScene(s.cloud)
	case s.cloud == cloudAWS:
		return quickStart()
	case s.cloud == cloudAzure && s.scene == stormName:
		return azureStormScene()
	case s.cloud == cloudAzure:
		return azureQuickStart()
	}
	if s.scene == approvalName {
		return approvalScene()
	}
	one, ok := demo.SceneNamed(s.scene)
	if !ok {
		one, _ = demo.SceneNamed("")
	}
	return scene{Scene: one}
}

// clusterFlags are the flags of the launcher for what the selected scene needs of the control plane.
func clusterFlags(s settings) []string {
	var flags []string
	one := sceneOf(s)
	if len(one.Gates) > 0 {
		flags = append(flags, "--feature-gates="+strings.Join(one.Gates, ","))
	}
	if len(one.APIs) > 0 {
		flags = append(flags, "--runtime-config="+strings.Join(one.APIs, ","))
	}
	return flags
}
