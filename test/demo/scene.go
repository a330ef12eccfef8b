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

// scene is a demonstration; those on AWS have onAWS in place of Perform.
type scene struct {
	demo.Scene
	onAWS func(*play) (fmt.Stringer, error)
}

// play performs the scene.
func (s scene) play(p *play) (fmt.Stringer, error) {
	if s.onAWS != nil {
		return s.onAWS(p)
	}
	return s.Perform(p.Play)
}

// sceneOf is the selected scene, or the default if there is none of that name. AWS has its own scenes.
func sceneOf(s settings) scene {
	if s.cloud == cloudAWS {
		if s.scene == stormName {
			return stormScene()
		}
		return quickStart()
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
