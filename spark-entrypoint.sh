#!/bin/sh
# What a pod of the pipeline begins with. Spark on Kubernetes starts its own pods with the argument `driver` or `executor` and tells
# them the rest in variables (org.apache.spark.deploy.k8s.Constants); anything else is a command.
set -eu

# Numba takes no folder that it cannot write to, so the kernels go where it can.
mkdir -p "$NUMBA_CACHE_DIR"
cp -R /opt/kernels/. "$NUMBA_CACHE_DIR"

case "${1-}" in
driver)
    shift
    exec spark-submit --deploy-mode client --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" "$@"
    ;;
executor)
    # SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1 … are one option of the JVM each, and may hold blanks.
    set --
    number=0
    while option=$(printenv "SPARK_JAVA_OPT_$number"); do
        set -- "$@" "$option"
        number=$((number + 1))
    done
    spark=$(python -c 'import pyspark; print(pyspark.__path__[0])')
    exec java "$@" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
        -cp "${SPARK_CONF_DIR:-$spark/conf}:$spark/jars/*${SPARK_CLASSPATH:+:$SPARK_CLASSPATH}" \
        org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
        --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
        --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
        --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
    ;;
*)
    exec "$@"
    ;;
esac
