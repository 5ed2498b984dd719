"""The settings of Spark SQL, by the first release that knows each: those of SQLConf and StaticSQLConf, and of a store
of RocksDB. Data, read out of the sources of each release; names are below `spark.sql.`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ckpttool.releases import Release

PREFIX = "spark.sql."
# Known to these releases alone: the first, and the first that does not know it any more.
WITHDRAWN: Mapping[str, Release] = {"spark.sql.streaming.join.stateFormatV4.enabled": (4, 3, 0)}


def knows(release: Release, name: str) -> bool:
    first = settings().get(name)
    return first is not None and first <= release < WITHDRAWN.get(name, (release[0] + 1, 0, 0))


@cache
def settings() -> Mapping[str, Release]:
    """The first release of the tables; what is older than all of them counts as that."""
    return {f"{PREFIX}{name}": release for release, names in _SINCE.items() for name in names.split()}


_SINCE: dict[Release, str] = {
    (2, 4, 0): """
        adaptive.enabled adaptive.minNumPostShufflePartitions adaptive.shuffle.targetPostShuffleInputSize
        autoBroadcastJoinThreshold avro.compression.codec avro.deflate.level broadcastTimeout
        cartesianProductExec.buffer.in.memory.threshold cartesianProductExec.buffer.spill.threshold caseSensitive
        catalogImplementation cbo.enabled cbo.joinReorder.card.weight cbo.joinReorder.dp.star.filter
        cbo.joinReorder.dp.threshold cbo.joinReorder.enabled cbo.starJoinFTRatio cbo.starSchemaDetection
        codegen.aggregate.fastHashMap.capacityBit codegen.aggregate.map.twolevel.enabled codegen.cache.maxEntries
        codegen.comments codegen.factoryMode codegen.fallback codegen.hugeMethodLimit codegen.logging.maxLines
        codegen.maxFields codegen.splitConsumeFuncByOperator codegen.useIdInClassName codegen.wholeStage
        columnNameOfCorruptRecord columnVector.offheap.enabled constraintPropagation.enabled crossJoin.enabled
        csv.parser.columnPruning.enabled debug decimalOperations.allowPrecisionLoss defaultSizeInBytes
        defaultUrlStreamHandlerFactory.enabled exchange.reuse execution.arrow.enabled execution.arrow.fallback.enabled
        execution.arrow.maxRecordsPerBatch execution.pandas.respectSessionTimeZone
        execution.rangeExchange.sampleSizePerPartition execution.removeRedundantSorts execution.sortBeforeRepartition
        execution.topKSortFallbackThreshold execution.useObjectHashAggregateExec extensions files.ignoreCorruptFiles
        files.ignoreMissingFiles files.maxPartitionBytes files.maxRecordsPerFile files.openCostInBytes
        filesourceTableRelationCacheSize fromJsonForceNullableSchema function.concatBinaryAsString
        function.eltOutputAsString globalTempDatabase groupByAliases groupByOrdinal
        hive.advancedPartitionPredicatePushdown.enabled hive.caseSensitiveInferenceMode hive.convertCTAS
        hive.filesourcePartitionFileCacheSize hive.gatherFastStats hive.manageFilesourcePartitions
        hive.metastorePartitionPruning hive.thriftServer.singleSession hive.verifyPartitionPath
        inMemoryColumnarStorage.batchSize inMemoryColumnarStorage.compressed
        inMemoryColumnarStorage.enableVectorizedReader inMemoryColumnarStorage.partitionPruning
        join.preferSortMergeJoin legacy.allowCreatingManagedTableUsingNonemptyLocation
        legacy.compareDateTimestampInTimestamp legacy.execution.pandas.groupedMap.assignColumnsByName
        legacy.literal.pickMinimumPrecision legacy.mssqlserver.numericMapping.enabled
        legacy.parser.havingWithoutGroupByAsWhere legacy.rdd.applyConf legacy.replaceDatabricksSparkAvro.enabled
        legacy.setopsPrecedence.enabled legacy.sizeOfNull legacy.sources.write.passPartitionByAsOptions
        limit.scaleUpFactor objectHashAggregate.sortBased.fallbackThreshold optimizer.excludedRules
        optimizer.inSetConversionThreshold optimizer.maxIterations optimizer.metadataOnly
        optimizer.nestedSchemaPruning.enabled optimizer.replaceExceptWithFilter orc.columnarReaderBatchSize
        orc.compression.codec orc.copyBatchToSpark orc.enableVectorizedReader orc.filterPushdown orc.impl
        orderByOrdinal parquet.binaryAsString parquet.columnarReaderBatchSize parquet.compression.codec
        parquet.enableVectorizedReader parquet.filterPushdown parquet.filterPushdown.date
        parquet.filterPushdown.decimal parquet.filterPushdown.string.startsWith parquet.filterPushdown.timestamp
        parquet.int64AsTimestampMillis parquet.int96AsTimestamp parquet.int96TimestampConversion parquet.mergeSchema
        parquet.output.committer.class parquet.outputTimestampType parquet.pushdown.inFilterThreshold
        parquet.recordLevelFilter.enabled parquet.respectSummaryFiles parquet.writeLegacyFormat
        parser.escapedStringLiterals parser.quotedRegexColumnNames pivotMaxValues queryExecutionListeners
        redaction.options.regex redaction.string.regex repl.eagerEval.enabled repl.eagerEval.maxNumRows
        repl.eagerEval.truncate retainGroupColumns runSQLOnFiles selfJoinAutoResolveAmbiguity session.timeZone
        shuffle.partitions sort.enableRadixSort sortMergeJoinExec.buffer.in.memory.threshold
        sortMergeJoinExec.buffer.spill.threshold sources.bucketing.enabled sources.bucketing.maxBuckets
        sources.commitProtocolClass sources.default sources.fileCompressionFactor sources.outputCommitterClass
        sources.parallelPartitionDiscovery.parallelism sources.parallelPartitionDiscovery.threshold
        sources.partitionColumnTypeInference.enabled sources.partitionOverwriteMode
        sources.schemaStringLengthThreshold statistics.fallBackToHdfs statistics.histogram.enabled
        statistics.histogram.numBins statistics.ndv.maxError statistics.parallelFileListingInStatsComputation.enabled
        statistics.percentile.accuracy statistics.size.autoUpdate.enabled streaming.aggregation.stateFormatVersion
        streaming.checkpointFileManagerClass streaming.checkpointLocation streaming.commitProtocolClass
        streaming.continuous.executorPollIntervalMs streaming.continuous.executorQueueSize
        streaming.disabledV2MicroBatchReaders streaming.disabledV2Writers streaming.fileSink.log.cleanupDelay
        streaming.fileSink.log.compactInterval streaming.fileSink.log.deletion streaming.fileSource.log.cleanupDelay
        streaming.fileSource.log.compactInterval streaming.fileSource.log.deletion
        streaming.flatMapGroupsWithState.stateFormatVersion streaming.maxBatchesToRetainInMemory
        streaming.metricsEnabled streaming.minBatchesToRetain streaming.multipleWatermarkPolicy
        streaming.noDataMicroBatches.enabled streaming.noDataProgressEventInterval streaming.numRecentProgressUpdates
        streaming.pollingDelay streaming.schemaInference streaming.stateStore.minDeltasForSnapshot
        streaming.stateStore.providerClass streaming.streamingQueryListeners streaming.unsupportedOperationCheck
        subexpressionElimination.enabled subquery.maxThreadThreshold thriftServer.incrementalCollect
        thriftserver.scheduler.pool thriftserver.ui.retainedSessions thriftserver.ui.retainedStatements
        truncateTable.ignorePermissionAcl.enabled ui.retainedExecutions variable.substitute variable.substitute.depth
        view.maxNestedViewDepth warehouse.dir windowExec.buffer.in.memory.threshold windowExec.buffer.spill.threshold
    """,
    (3, 0, 0): """
        adaptive.advisoryPartitionSizeInBytes adaptive.coalescePartitions.enabled
        adaptive.coalescePartitions.initialPartitionNum adaptive.coalescePartitions.minPartitionNum
        adaptive.fetchShuffleBlocksInBatch adaptive.forceApply adaptive.localShuffleReader.enabled adaptive.logLevel
        adaptive.nonEmptyPartitionRatioForBroadcastJoin adaptive.skewJoin.enabled
        adaptive.skewJoin.skewedPartitionFactor adaptive.skewJoin.skewedPartitionThresholdInBytes
        addPartitionInBatch.size analyzer.failAmbiguousSelfJoin analyzer.maxIterations ansi.enabled
        broadcastExchange.maxThreadThreshold catalog.$SESSION_CATALOG_NAME cbo.planStats.enabled
        codegen.aggregate.map.vectorized.enable codegen.aggregate.splitAggregateFunc.enabled
        codegen.methodSplitThreshold csv.filterPushdown.enabled datetime.java8API.enabled debug.maxToStringFields
        defaultCatalog event.truncate.length execution.arrow.pyspark.enabled execution.arrow.pyspark.fallback.enabled
        execution.arrow.sparkr.enabled execution.pandas.convertToArrowArraySafely execution.pandas.udf.buffer.size
        execution.reuseSubquery inMemoryTableScanStatistics.enable jsonGenerator.ignoreNullFields
        legacy.addSingleFileInAddFile legacy.allowHashOnMapType legacy.allowNegativeScaleOfDecimal
        legacy.allowUntypedScalaUDF legacy.avro.datetimeRebaseModeInRead legacy.avro.datetimeRebaseModeInWrite
        legacy.bucketedTableScan.outputOrdering legacy.createEmptyCollectionUsingStringType legacy.ctePrecedencePolicy
        legacy.dataset.nameNonStructGroupingKeyAsValue legacy.doLooseUpcast legacy.exponentLiteralAsDecimal.enabled
        legacy.followThreeValuedLogicInArrayExists legacy.fromDayTimeString.enabled
        legacy.json.allowEmptyString.enabled legacy.notReserveProperties legacy.parquet.datetimeRebaseModeInRead
        legacy.parquet.datetimeRebaseModeInWrite legacy.sessionInitWithConfigDefaults
        legacy.setCommandRejectsSparkCoreConfs legacy.timeParserPolicy legacy.typeCoercion.datetimeToString.enabled
        mapKeyDedupPolicy maven.additionalRemoteRepositories maxPlanStringLength
        optimizer.dynamicPartitionPruning.enabled optimizer.dynamicPartitionPruning.fallbackFilterRatio
        optimizer.dynamicPartitionPruning.reuseBroadcastOnly optimizer.dynamicPartitionPruning.useStats
        optimizer.expression.nestedPruning.enabled optimizer.inSetSwitchThreshold
        optimizer.nestedPredicatePushdown.supportedFileSources optimizer.planChangeLog.batches
        optimizer.planChangeLog.level optimizer.planChangeLog.rules optimizer.serializer.nestedSchemaPruning.enabled
        orc.mergeSchema pyspark.jvmStacktrace.enabled scriptTransformation.exitTimeoutInSeconds
        sources.binaryFile.maxLength sources.ignoreDataLocality sources.useV1SourceList
        sources.validatePartitionColumns storeAssignmentPolicy streaming.checkpoint.escapedPathCheck.enabled
        streaming.continuous.epochBacklogQueueSize streaming.fileSource.cleaner.numThreads
        streaming.fileSource.schema.forceNullable streaming.forceDeleteTempCheckpointLocation
        streaming.join.stateFormatVersion streaming.stopActiveRunOnRestart streaming.stopTimeout streaming.ui.enabled
        streaming.ui.retainedProgressUpdates streaming.ui.retainedQueries
    """,
    (3, 0, 2): """
        execution.fastFailOnFileFormatOutput legacy.keepCommandOutputSchema
        legacy.parseNullPartitionSpecAsStringLiteral
    """,
    (3, 0, 3): """
        csv.parser.inputBufferSize
    """,
    (3, 1, 0): """
        adaptive.optimizer.excludedRules avro.filterPushdown.enabled bucketing.coalesceBucketsInJoin.enabled
        bucketing.coalesceBucketsInJoin.maxBucketRatio cache.serializer
        execution.broadcastHashJoin.outputPartitioningExpandLimit execution.pyspark.udf.simplifiedTraceback.enabled
        execution.removeRedundantProjects files.minPartitionNum hive.metastorePartitionPruningInSetThreshold
        json.filterPushdown.enabled legacy.castComplexTypesToString.enabled legacy.charVarcharAsString
        legacy.createHiveTableByDefault legacy.extraOptionsBehavior.enabled legacy.integerGroupingId
        legacy.parquet.int96RebaseModeInRead legacy.parquet.int96RebaseModeInWrite legacy.pathOptionBehavior.enabled
        legacy.statisticalAggregate legacy.storeAnalyzedPlanForView legacy.useCurrentConfigsForView
        maxMetadataStringLength metadataCacheTTLSeconds optimizeNullAwareAntiJoin optimizer.disableHints
        optimizer.enableJsonExpressionOptimization planChangeLog.batches planChangeLog.level planChangeLog.rules
        sources.bucketing.autoBucketedScan.enabled sources.disabledJdbcConnProviderList
        streaming.kafka.useDeprecatedOffsetFetching streaming.stateStore.compression.codec
        streaming.stateStore.formatValidation.enabled streaming.stateStore.maintenanceInterval
        streaming.stateStore.stateSchemaCheck streaming.statefulOperator.checkCorrectness.enabled
        streaming.ui.enabledCustomMetricList subexpressionElimination.cache.maxEntries thriftServer.queryTimeout
        ui.explainMode
    """,
    (3, 1, 1): """
        legacy.allowParameterlessCount
    """,
    (3, 2, 0): """
        adaptive.autoBroadcastJoinThreshold adaptive.coalescePartitions.minPartitionSize
        adaptive.coalescePartitions.parallelismFirst adaptive.customCostEvaluatorClass
        adaptive.maxShuffledHashJoinLocalMapThreshold adaptive.optimizeSkewsInRebalancePartitions.enabled
        avro.datetimeRebaseModeInRead avro.datetimeRebaseModeInWrite cli.print.header
        execution.arrow.pyspark.selfDestruct.enabled hive.tablePropertyLengthThreshold leafNodeDefaultParallelism
        legacy.allowAutoGeneratedAliasForView legacy.allowNonEmptyLocationInCTAS
        legacy.allowStarWithSingleTableIdentifierInCount legacy.interval.enabled maxConcurrentOutputFileWriters
        optimizer.canChangeCachedPlanOutputPartitioning optimizer.decorrelateInnerQuery.enabled
        optimizer.enableCsvExpressionOptimization optimizer.optimizeOneRowRelationSubquery
        orc.enableNestedColumnVectorizedReader parquet.datetimeRebaseModeInRead parquet.datetimeRebaseModeInWrite
        parquet.int96RebaseModeInRead parquet.int96RebaseModeInWrite sessionWindow.buffer.in.memory.threshold
        sessionWindow.buffer.spill.threshold streaming.fileStreamSink.ignoreMetadata
        streaming.sessionWindow.merge.sessions.in.local.partition streaming.sessionWindow.stateFormatVersion
        streaming.stateStore.rocksdb.blockCacheSizeMB streaming.stateStore.rocksdb.blockSizeKB
        streaming.stateStore.rocksdb.compactOnCommit streaming.stateStore.rocksdb.formatVersion
        streaming.stateStore.rocksdb.lockAcquireTimeoutMs streaming.stateStore.rocksdb.resetStatsOnLoad
        streaming.stateStore.skipNullsForStreamStreamJoins.enabled thriftServer.interruptOnCancel timestampType
    """,
    (3, 2, 1): """
        codegen.aggregate.map.twolevel.partialOnly
    """,
    (3, 2, 2): """
        legacy.allowNullComparisonResultInArraySort streaming.statefulOperator.useStrictDistribution
    """,
    (3, 2, 3): """
        legacy.groupingIdWithAppendedUserGroupBy
    """,
    (3, 2, 4): """
        legacy.parquet.nanosAsLong
    """,
    (3, 3, 0): """
        adaptive.forceOptimizeSkewedJoin adaptive.rebalancePartitionsSmallPartitionFactor ansi.enforceReservedKeywords
        ansi.strictIndexOperator charAsVarchar codegen.aggregate.sortAggregate.enabled
        codegen.join.existenceSortMergeJoin.enabled codegen.join.fullOuterShuffledHashJoin.enabled
        codegen.join.fullOuterSortMergeJoin.enabled execution.replaceHashWithSortAgg
        hive.metastorePartitionPruningFallbackOnException hive.metastorePartitionPruningFastFallback
        legacy.allowZeroIndexInFormatString legacy.histogramNumericPropagateInputType
        legacy.lpadRpadAlwaysReturnString legacy.nullValueWrittenAsQuotedEmptyStringCsv
        legacy.respectNullabilityInTextDatasetConversion legacy.useV1Command optimizer.collapseProjectAlwaysInline
        optimizer.propagateDistinctKeys.enabled optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold
        optimizer.runtime.bloomFilter.creationSideThreshold optimizer.runtime.bloomFilter.enabled
        optimizer.runtime.bloomFilter.expectedNumItems optimizer.runtime.bloomFilter.maxNumBits
        optimizer.runtime.bloomFilter.maxNumItems optimizer.runtime.bloomFilter.numBits
        optimizer.runtimeFilter.number.threshold optimizer.runtimeFilter.semiJoinReduction.enabled
        orc.aggregatePushdown parquet.aggregatePushdown parquet.enableNestedColumnVectorizedReader
        parquet.fieldId.read.enabled parquet.fieldId.read.ignoreMissing parquet.fieldId.write.enabled
        pyspark.inferNestedDictAsStruct.enabled requireAllClusterKeysForCoPartition
        requireAllClusterKeysForDistribution shuffledHashJoinFactor sources.v2.bucketing.enabled
        streaming.stateStore.rocksdb.trackTotalNumberOfRows
    """,
    (3, 3, 4): """
        legacy.percentileDiscCalculation
    """,
    (3, 4, 0): """
        analyzer.canonicalization.multiCommutativeOpMemoryOptThreshold ansi.doubleQuotedIdentifiers
        ansi.relationPrecedence catalog.$SESSION_CATALOG_NAME.defaultDatabase defaultColumn.allowedProviders
        defaultColumn.enabled defaultColumn.useNullsForMissingDefaultValues error.messageFormat
        execution.arrow.localRelationThreshold execution.pythonUDF.arrow.enabled hive.dropPartitionByName.enabled
        json.enablePartialResults jsonGenerator.writeNullIfWithDefaultValue
        lateralColumnAlias.enableImplicitResolution legacy.allowEmptySchemaWrite
        legacy.allowTempViewCreationWithMultipleNameparts legacy.csv.enableDateTimeParsingFallback
        legacy.emptyCurrentDBInCli legacy.json.enableDateTimeParsingFallback legacy.keepPartitionSpecAsStringLiteral
        legacy.skipTypeValidationOnAlterPartition legacy.v1IdentifierNoCatalog limit.initialNumPartitions
        maxSinglePartitionBytes optimizer.decorrelateSetOps.enabled
        optimizer.decorrelateSubqueryLegacyIncorrectCountHandling.enabled optimizer.expressionProjectionCandidateLimit
        optimizer.optimizeOneRowRelationSubquery.alwaysInline optimizer.plannedWrite.enabled
        optimizer.pullHintsIntoSubqueries optimizer.runtime.rowLevelOperationGroupFilter.enabled
        orc.columnarWriterBatchSize parquet.filterPushdown.stringPredicate parquet.inferTimestampNTZ.enabled
        planChangeValidation pyspark.legacy.inferArrayTypeFromFirstElement.enabled readSideCharPadding
        sources.v2.bucketing.partiallyClusteredDistribution.enabled sources.v2.bucketing.pushPartValues.enabled
        streaming.asyncLogPurge.enabled streaming.checkpoint.renamedFileCheck.enabled streaming.metadataCache.enabled
        streaming.stateStore.rocksdb.maxOpenFiles streaming.statefulOperator.allowMultiple
    """,
    (3, 4, 2): """
        adaptive.applyFinalStageShuffleOptimizations legacy.negativeIndexInArrayInsert
    """,
    (3, 5, 0): """
        allowNamedFunctionArguments codegen.join.buildSideOuterShuffledHashJoin.enabled
        execution.arrow.useLargeVarTypes execution.pandas.structHandlingMode execution.pyspark.python
        execution.pythonUDTF.arrow.enabled execution.usePartitionEvaluator files.maxPartitionNum
        legacy.inSubqueryNullability legacy.nullInEmptyListBehavior optimizer.windowGroupLimitThreshold
        stableDerivedColumnAlias.enabled streaming.stateStore.rocksdb.boundedMemoryUsage
        streaming.stateStore.rocksdb.changelogCheckpointing.enabled streaming.stateStore.rocksdb.highPriorityPoolRatio
        streaming.stateStore.rocksdb.maxMemoryUsageMB streaming.stateStore.rocksdb.maxWriteBufferNumber
        streaming.stateStore.rocksdb.writeBufferCacheRatio streaming.stateStore.rocksdb.writeBufferSizeMB
        subexpressionElimination.skipForShortcutExpr tvf.allowMultipleTableArguments.enabled
    """,
    (3, 5, 1): """
        legacy.avro.allowIncompatibleSchema optimizer.excludeSubqueryRefsFromRemoveRedundantAliases.enabled
    """,
    (3, 5, 2): """
        chunkBase64String.enabled legacy.noCharPaddingInPredicate streaming.optimizeOneRowPlan.enabled
    """,
    (3, 5, 5): """
        optimizer.pruneFiltersCanPruneStreamingSubplan
    """,
    (3, 5, 6): """
        legacy.dataFrameWriterV2IgnorePathOption
    """,
    (4, 0, 0): """
        alwaysInlineCommonExpr analyzer.allowSubqueryExpressionsInLambdasOrHigherOrderFunctions
        analyzer.scalarSubqueryAllowGroupByColumnEqualToConstant analyzer.singlePassResolver.dualRunWithLegacy
        analyzer.singlePassResolver.enabled analyzer.singlePassResolver.relationBridging.enabled
        analyzer.singlePassResolver.returnSinglePassResultInDualRun analyzer.singlePassResolver.validationEnabled
        artifact.copyFromLocalToFs.allowDestLocal artifact.isolation.alwaysApplyClassloader artifact.isolation.enabled
        avro.xz.level avro.zstandard.bufferPool.enabled avro.zstandard.level binaryOutputStyle
        codegen.broadcastCleanedSourceThreshold collation.allowInMapKeys collation.objectLevel.enabled
        collation.trim.enabled dataFrameQueryContext.enabled dataSource.skipAssertOnPredicatePushdown
        dataframeCache.logLevel defaultCacheStorageLevel execution.arrow.maxBytesPerBatch
        execution.arrow.transformWithStateInPandas.maxRecordsPerBatch execution.interruptOnCancel
        execution.pandas.inferPandasDictAsMap execution.pyspark.udf.faulthandler.enabled
        execution.pyspark.udf.hideTraceback.enabled execution.pyspark.udf.idleTimeoutSeconds
        execution.python.udf.buffer.size execution.python.udf.maxRecordsPerBatch
        execution.pythonUDF.arrow.concurrency.level expressionTreeChangeLog.level extendedExplainProviders
        extensions.test.loadFromCp files.ignoreInvalidPartitionPaths files.supportSecondOffsetFormat
        icu.caseMappings.enabled inMemoryColumnarStorage.hugeVectorReserveRatio
        inMemoryColumnarStorage.hugeVectorThreshold json.enableExactStringParsing json.useUnsafeRow
        lazySetOperatorOutput.enabled legacy.bangEqualsNot legacy.codingErrorAction legacy.db2.booleanMapping.enabled
        legacy.db2.numericMapping.enabled legacy.decimal.retainFractionDigitsOnTruncate
        legacy.disableMapKeyNormalization legacy.duplicateBetweenInput legacy.earlyEvalCurrentTime
        legacy.inlineCTEInCommands legacy.javaCharsets legacy.mssqlserver.datetimeoffsetMapping.enabled
        legacy.mysql.bitArrayMapping.enabled legacy.mysql.timestampNTZMapping.enabled
        legacy.oracle.timestampMapping.enabled legacy.parseQueryWithoutEof legacy.postgres.datetimeMapping.enabled
        legacy.raiseErrorWithoutErrorClass legacy.readFileSourceTableCacheIgnoreOptions
        legacy.scalarSubqueryAllowGroupByNonEqualityCorrelatedPredicate legacy.scalarSubqueryCountBugBehavior
        legacy.viewSchemaBindingMode legacy.viewSchemaCompensation lightweightPlanChangeValidation
        operatorPipeSyntaxEnabled optimizer.avoidCollapseUDFWithExpensiveExpr
        optimizer.decorrelateExistsSubqueryLegacyIncorrectCountHandling.enabled
        optimizer.decorrelateJoinPredicate.enabled optimizer.decorrelateLimit.enabled
        optimizer.decorrelateOffset.enabled optimizer.decorrelatePredicateSubqueriesInJoinPredicate.enabled
        optimizer.decorrelateSubqueryPreventConstantHoldingForCountBug.enabled
        optimizer.decorrelateUnionOrSetOpUnderLimit.enabled
        optimizer.optimizeUncorrelatedInSubqueriesInJoinCondition.enabled
        optimizer.pullOutNestedDataOuterRefExpressions.enabled optimizer.scalarSubqueryUseSingleJoin
        optimizer.wrapExistsInAggregateFunction orderingAwareLimitOffset parser.eagerEvalOfUnresolvedInlineTable
        planner.pythonExecution.memory preserveCharVarcharTypeInfo pyspark.legacy.inferMapTypeFromFirstPair.enabled
        pyspark.plotting.max_rows pyspark.udf.profiler resultQueryStage.maxThreadThreshold
        runCollationTypeCastsBeforeAliasAssignment.enabled scripting.enabled shuffleDependency.fileCleanup.enabled
        shuffleDependency.skipMigration.enabled shuffleExchange.maxThreadThreshold sources.useListFilesFileSystemList
        sources.v2.bucketing.allowCompatibleTransforms.enabled
        sources.v2.bucketing.allowJoinKeysSubsetOfPartitionKeys.enabled sources.v2.bucketing.partition.filter.enabled
        sources.v2.bucketing.shuffle.enabled sources.v2.bucketing.sorting.enabled stackTracesInDataFrameContext
        statistics.updatePartitionStatsInAnalyzeTable.enabled
        streaming.flatMapGroupsWithState.skipEmittingInitialStateKeys streaming.ratioExtraSpaceAllowedInCheckpoint
        streaming.stateStore.checkpointFormatVersion streaming.stateStore.encodingFormat
        streaming.stateStore.maxNumStateSchemaFiles streaming.stateStore.numStateStoreMaintenanceThreads
        streaming.stateStore.rocksdb.allowFAllocate streaming.stateStore.valueStateSchemaEvolutionThreshold
        streaming.transformWithState.stateSchemaVersion streaming.triggerAvailableNowWrapper.enabled
        timeTravelTimestampKey timeTravelVersionKey transposeMaxValues useCommonExprIdForAlias
        variant.allowDuplicateKeys variant.allowReadingShredded variant.forceShreddingSchemaForTest
        variant.pushVariantIntoScan variant.writeShredding.enabled
    """,
    (4, 0, 1): """
        analyzer.sqlFunctionResolution.applyConfOverrides assumeAnsiFalseIfNotPersisted.enabled
        legacy.collationAwareHashFunctions
    """,
    (4, 1, 0): """
        adaptive.streaming.stateless.enabled analyzer.dontDeduplicateExpressionIfExprIdInOutput
        analyzer.preferColumnOverLcaInArrayIndex analyzer.singlePassResolver.dualRunSampleRate
        analyzer.singlePassResolver.enabledTentatively analyzer.singlePassResolver.exposeResolverGuardFailure
        analyzer.singlePassResolver.preventUsingAliasesFromNonDirectChildren
        analyzer.singlePassResolver.runExtendedResolutionChecks
        analyzer.singlePassResolver.runHeavyExtendedResolutionChecks
        analyzer.singlePassResolver.throwFromResolverGuard analyzer.unionIsResolvedWhenDuplicatesPerChildResolved
        analyzer.uniqueNecessaryMetadataColumns cartesianProductExec.buffer.spill.size.threshold
        classic.shuffleDependency.fileCleanup.enabled codegen.logLevel collation.schemaLevel.enabled
        connect.shuffleDependency.fileCleanup.enabled cteRecursionAnchorRowsLimitToConvertToLocalRelation
        cteRecursionLevelLimit cteRecursionRowLimit cteRelationDefMaxRows.enabled dataSource.alwaysCreateV2Predicate
        enforceTypeCoercionBeforeUnionDeduplication.enabled execution.arrow.compression.codec
        execution.arrow.compression.zstd.level execution.arrow.maxBytesPerOutputBatch
        execution.arrow.maxRecordsPerOutputBatch execution.arrow.pyspark.validateSchema.enabled
        execution.arrow.transformWithStateInPySpark.maxStateRecordsPerBatch
        execution.datasources.hadoopLineRecordReader.enabled execution.pyspark.binaryAsBytes
        execution.pyspark.udf.daemonKillWorkerOnFlushFailure execution.pyspark.udf.killOnIdleTimeout
        execution.pyspark.udf.tracebackDumpIntervalSeconds execution.pythonUDF.arrow.legacy.fallbackOnUDT
        execution.pythonUDF.pandas.intToDecimalCoercionEnabled geospatial.enabled
        legacy.allowSessionVariableInPersistedView legacy.blockCreateTempTableUsingProvider
        legacy.consecutiveStringLiterals.enabled legacy.execution.pythonUDF.pandas.conversion.enabled
        legacy.execution.pythonUDTF.pandas.conversion.enabled legacy.identifierClause
        legacy.parameterSubstitution.constantsOnly legacy.parquet.returnNullStructIfAllFieldsMissing
        legacy.truncateForEmptyRegexSplit legacy.useLegacyXMLParser mapZipWithUsesJavaCollections
        maxBroadcastTableSize mergeNestedTypeCoercion.enabled nameResolutionLog.level
        optimizer.datasourceV2ExprFolding optimizer.datasourceV2JoinPushdown
        optimizer.preserveAliasMetadataWhenCollapsingProjects parquet.enableNullTypeVectorizedReader
        parquet.ignoreVariantAnnotation parquet.variant.annotateLogicalType.enabled parser.manageParserCaches
        parser.parserDfaCacheFlushRatio parser.parserDfaCacheFlushThreshold pipelines.event.queue.capacity
        pipelines.execution.maxConcurrentFlows pipelines.execution.streamstate.pollingInterval
        pipelines.execution.watchdog.maxRetryTime pipelines.execution.watchdog.minRetryTime
        pipelines.maxFlowRetryAttempts pipelines.timeoutMsForTerminationJoinAndLock
        prioritizeOrdinalResolutionInSort.enabled pyspark.worker.logging.enabled python.filterPushdown.enabled
        scripting.continueHandlerEnabled session.localRelationChunkSizeLimit session.localRelationSizeLimit
        sessionWindow.buffer.spill.size.threshold shuffle.orderIndependentChecksum.enableFullRetryOnMismatch
        shuffle.orderIndependentChecksum.enabled sortMergeJoinExec.buffer.spill.size.threshold
        streaming.checkpoint.fileChecksum.enabled streaming.checkpoint.fileChecksum.skipCreationIfFileMissingChecksum
        streaming.internal.stateStore.partitions streaming.realTimeMode.allowlistCheck
        streaming.realTimeMode.minBatchDuration streaming.stateStore.commitValidation.enabled
        streaming.stateStore.coordinatorReportSnapshotUploadLag streaming.stateStore.maintenanceProcessingTimeout
        streaming.stateStore.maintenanceShutdownTimeout streaming.stateStore.maxLaggingStoresToReport
        streaming.stateStore.maxVersionsToDeletePerMaintenance streaming.stateStore.multiplierForMinTimeDiffToLog
        streaming.stateStore.multiplierForMinVersionDiffToLog
        streaming.stateStore.numStateStoreInstanceMetricsToReport streaming.stateStore.rocksdb.memoryUpdateIntervalMs
        streaming.stateStore.rocksdb.verifyNonEmptyFilesInZip streaming.stateStore.snapshotLagReportInterval
        streaming.stateStore.unloadOnCommit streaming.verifyCheckpointDirectoryEmptyOnStart timeType.enabled
        unionOutputPartitioning variant.inferShreddingSchema variant.shredding.maxSchemaDepth
        variant.shredding.maxSchemaWidth windowExec.buffer.spill.size.threshold
    """,
    (4, 1, 2): """
        parquet.reader.respectUnknownTypeAnnotation.enabled
    """,
    (4, 2, 0): """
        analyzer.expandTagPassthroughDuplicates analyzer.lowerEmptyGroupingSetToGlobalAggregate.enabled
        analyzer.strictDataFrameColumnResolution analyzer.subqueryAliasAlwaysPropagateMetadataColumns
        artifact.cacheStorageLevel codegen.wholeStage.union.enabled codegen.wholeStage.union.maxChildren defaultPath
        dropTableOnView.enabled execution.arrow.pythonUDF.columnarInput.enabled
        execution.pythonUDF.pandas.preferIntExtensionDtype fileSource.insert.enforceNotNull
        function.protobufExtensions.enabled functionResolution.sessionOrder insertIntoReplaceOn.enabled
        insertIntoReplaceOnByName.enabled insertIntoReplaceUsing.enabled insertIntoReplaceUsingByName.enabled
        insertNestedTypeCoercion.enabled legacy.allowUdfParameterToShadowParameterlessFunction
        legacy.cteDuplicateAttributeNames legacy.persistentCatalogFirst listagg.allowDistinctCastWithOrder.enabled
        optimizer.avoidDoubleFilterEval optimizer.mapLookupHashThreshold
        optimizer.mergeSubplans.filterPropagation.enabled
        optimizer.mergeSubplans.filterPropagation.symmetricFilterPropagation.enabled
        optimizer.mergeSubplans.filterPropagation.throughJoin.enabled optimizer.optimizeExpandRatio
        optimizer.pushDownJoinThroughUnion.enabled parser.singleCharacterPipeOperator.enabled path.enabled
        pyspark.dataSource.profiler pyspark.toJSON.returnDataFrame scripting.cursorEnabled
        shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch
        sources.v2.bucketing.partitionKeyOrdering.enabled sources.v2.bucketing.preserveKeyOrderingOnCoalesce.enabled
        sources.v2.bucketing.preserveOrderingOnCoalesce.enabled streaming.checkUnfinishedRepartitionOnRestart
        streaming.checkpoint.verifyMetadataExists.enabled streaming.join.stateFormatV4.enabled
        streaming.offsetLog.formatVersion streaming.queryEvolution.enableSinkEvolution
        streaming.queryEvolution.enableSourceEvolution streaming.stateStore.autoSnapshotRepair.enabled
        streaming.stateStore.autoSnapshotRepair.maxChangeFileReplay
        streaming.stateStore.autoSnapshotRepair.numFailuresBeforeActivating
        streaming.stateStore.fileChecksumThreadPoolSize streaming.stateStore.forceSnapshotUploadOnLag
        streaming.stateStore.maintenanceForceShutdownTimeout
        streaming.stateStore.rocksdb.checkStaleReusedFilesInSnapshot streaming.stateStore.rocksdb.mergeOperatorVersion
        streaming.stateStore.rowChecksum.enabled streaming.stateStore.rowChecksum.readVerificationRatio
        streaming.validateEventTimeWatermarkColumn subexpressionElimination.filterExec.enabled
        thriftserver.shuffleDependency.fileCleanup.enabled types.framework.enabled
        variant.validateUnicodeInJsonParsing window.segmentTree.blockSize window.segmentTree.enabled
        window.segmentTree.fanout window.segmentTree.minPartitionRows xml.variant.respectInferSchema
    """,
    (4, 3, 0): """
        adaptive.coalescePartitions.maxReducerPartitionsPerTask
        adaptive.convertSortMergeJoinToShuffledHashJoin.enabled
        adaptive.convertSortMergeJoinToShuffledHashJoin.lookThroughOperators.enabled
        adaptive.convertSortMergeJoinToShuffledHashJoin.minWideningFactor
        adaptive.costEvaluator.countLocalSort.enabled analyzer.singlePassResolver.enableAsOfJoinResolution
        binByRelationOperator.enabled charVarchar.standardSemantics.enabled
        codegen.aggregate.sortAggregate.withKeys.enabled codegen.compiler dropDuplicates.deterministicKeyOrder.enabled
        execution.aggregate.adaptivePartialAggregation.enabled
        execution.aggregate.adaptivePartialAggregation.minCompaction
        execution.aggregate.adaptivePartialAggregation.minRows execution.arrow.cache.prefetch.enabled
        execution.bypassPartialAggregation execution.combineAdjacentAggregation execution.pushDownLocalSort
        execution.pushDownLocalSort.throughCardinalityReducer execution.pyspark.udf.tracebackWithLocals.enabled
        execution.python.udf.maxBytesPerBatch execution.pythonUDF.inHigherOrderFunction.enabled
        execution.udf.unified.execution.enabled execution.useHashAggregateExec experimental.optimizer.pyTranspilers
        experimental.optimizer.transpilePyUDFs files.ignoredPathSegmentRegex function.parseSql.enabled
        generatedColumn.allowNullableIngest.enabled hive.showCreateTableAsSerde
        hive.thriftServer.http.sniHostCheckEnabled insertIntoReplaceWhereColumnList.enabled join.asofJoin.enabled
        join.sortMergeAsOfJoin.enabled join.splitStreamedSideJoinCondition
        legacy.hive.thriftServer.allowSettingSystemProperties legacy.jdbc.timeMapping.enabled
        legacy.observeMetricsAggregateAllAttempts optimizer.collapseWindowWithEmptyOrderSpecInChild
        optimizer.decorrelateLimitOffsetLegacyIncorrectOrderHandling.enabled
        optimizer.dynamicPartitionPruning.broadcastProjection.enabled
        optimizer.dynamicPartitionPruning.broadcastProjection.maxBytes
        optimizer.dynamicPartitionPruning.broadcastProjection.maxRows
        optimizer.dynamicPartitionPruning.broadcastProjection.maxSourceBytes
        optimizer.getJsonObjectSharedParsing.enabled optimizer.insertMapSortInDistinctAggregates.enabled
        optimizer.mergeSubplans.dsv2ScanMerge.keyGroupedPartitioningDegradation.enabled
        optimizer.mergeSubplans.dsv2ScanMerge.orderingDegradation.enabled
        optimizer.mergeSubplans.filterPropagation.dsv2SymmetricFilterPropagation.enabled
        optimizer.rewriteCountDistinctConditional.enabled
        optimizer.runtime.bloomFilter.materializedCreationSideThreshold optimizer.singleTaskExecution.aggregation
        optimizer.singleTaskExecution.enabled optimizer.singleTaskExecution.expand
        optimizer.singleTaskExecution.limitOffset optimizer.singleTaskExecution.localTableScan.minRows
        optimizer.singleTaskExecution.localTableScan.threshold optimizer.singleTaskExecution.maxNumFiles
        optimizer.singleTaskExecution.minNumBytes optimizer.singleTaskExecution.minNumFiles
        optimizer.singleTaskExecution.sort optimizer.singleTaskExecution.window planChangeValidation.nullability
        protobuf.descriptorCacheSize reflect.allowList shuffle.spreadNullJoinKeys.enabled
        sources.structPredicateDecompose.enabled sources.structPredicateDecompose.maxFields
        sources.v2.bucketing.allowKeysSubsetOfPartitionKeys.enabled
        streaming.realTimeMode.asyncProgressTrackingByDefault.enabled
        streaming.realTimeMode.dangerouslyAllowCheckpointV1.enabled
        streaming.realTimeMode.transformWithState.ttlEvictionIntervalMs
        streaming.statefulOperator.alwaysNullableOutput.enabled streaming.statefulOperator.incrementalCleanupFactor
        streaming.useStreamlineAggregator thriftServer.catalogMetadata.enabled timeTravel.atSyntax.enabled
        timestampNanosTypes.enabled variant.pushVariantIntoScan.deferCastError
        variant.pushVariantIntoScan.pullOutExtractions xml.schemaInference.incrementalTypeCasting.enabled
    """,
}
