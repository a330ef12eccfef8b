module github.com/karpenter-anew/karpenter/tools/ec2catalog

go 1.26.0

require github.com/LeanerCloud/ec2-instances-info v0.0.0-20250528091325-32acf84f42eb

require github.com/pkg/errors v0.9.1 // indirect

replace github.com/LeanerCloud/ec2-instances-info => github.com/cristim/ec2-instances-info v0.0.0-20250528091325-32acf84f42eb
