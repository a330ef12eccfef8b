module github.com/karpenter-anew/karpenter/tools/charts

go 1.26.0

require go.yaml.in/yaml/v3 v3.0.5
