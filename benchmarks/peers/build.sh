#!/bin/sh
# Builds topicmappr and Cruise Control's goals from their sources, for `python -m benchmarks reassignments/peers`.
#
#   benchmarks/peers/build.sh KAFKA_KIT CRUISE_CONTROL
#
# Both are clones of github.com/DataDog/kafka-kit and github.com/linkedin/cruise-control; a bare one will do. What is built is in
# build/peers, outside of the repository. Needs go, a JDK of 17 or more and maven.
set -eu
KAFKA_KIT_COMMIT=e8eb36f
CRUISE_CONTROL_COMMIT=dadba67e2
here=$(cd "$(dirname "$0")" && pwd)
kafka_kit=$(cd "$1" && pwd)
cruise_control=$(cd "$2" && pwd)
target=$here/../../build/peers
rm -rf "$target"
mkdir -p "$target/kafka-kit/cmd/peer" "$target/cruise-control" "$target/classes"
cd "$target"

git -C "$kafka_kit" archive "$KAFKA_KIT_COMMIT" | tar -x -C kafka-kit
cp "$here/topicmappr.go" kafka-kit/cmd/peer/main.go
(cd kafka-kit && go build -o ../topicmappr ./cmd/peer)

sources=""
for module in cruise-control-metrics-reporter cruise-control-core cruise-control; do
  git -C "$cruise_control" archive "$CRUISE_CONTROL_COMMIT" "$module/src/main/java" | tar -x -C cruise-control
  sources="cruise-control/$module/src/main/java:$sources"
done
git -C "$cruise_control" archive "$CRUISE_CONTROL_COMMIT" config | tar -x -C cruise-control
mvn -q -f "$here/pom.xml" dependency:build-classpath -Dmdep.outputFile="$target/class-path"
javac -proc:none -nowarn -encoding UTF-8 -cp "$(cat class-path)" -sourcepath "$sources" -d classes "$here/CruiseControl.java"
