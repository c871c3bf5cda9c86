"builtin.module"() ({
  "func.func"() <{function_type = (tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<8x20xf32>, tensor<8xi64>) -> (tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<f32>, tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<32x20xf32>, %arg1: tensor<32xf32>, %arg2: tensor<5x32xf32>, %arg3: tensor<5xf32>, %arg4: tensor<32x20xf32>, %arg5: tensor<32xf32>, %arg6: tensor<5x32xf32>, %arg7: tensor<5xf32>, %arg8: tensor<8x20xf32>, %arg9: tensor<8xi64>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<8x1xi64>}> : () -> tensor<8x1xi64>
    %1 = "stablehlo.constant"() <{value = dense<-100> : tensor<8x1xi64>}> : () -> tensor<8x1xi64>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<8xi64>}> : () -> tensor<8xi64>
    %3 = "stablehlo.constant"() <{value = dense<-100> : tensor<8xi64>}> : () -> tensor<8xi64>
    %4 = "stablehlo.constant"() <{value = dense<-1.000000e+00> : tensor<8x1xf32>}> : () -> tensor<8x1xf32>
    %5 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<8x5xf32>}> : () -> tensor<8x5xf32>
    %6 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %8 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<8x32xf32>}> : () -> tensor<8x32xf32>
    %10 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %11 = "arith.constant"() <{value = dense<1> : tensor<1xi64>}> : () -> tensor<1xi64>
    %12 = "arith.constant"() <{value = dense<1.000000e-04> : tensor<1xf64>}> : () -> tensor<1xf64>
    %13 = "arith.constant"() <{value = dense<2> : tensor<1xi64>}> : () -> tensor<1xi64>
    %14 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<1xf64>}> : () -> tensor<1xf64>
    %15 = "arith.constant"() <{value = dense<2.000000e-02> : tensor<1xf64>}> : () -> tensor<1xf64>
    %16 = "arith.constant"() <{value = dense<9.000000e-01> : tensor<1xf64>}> : () -> tensor<1xf64>
    %17 = "arith.constant"() <{value = dense<-1.000000e+00> : tensor<1xf64>}> : () -> tensor<1xf64>
    %18 = "stablehlo.transpose"(%arg0) <{permutation = array<i64: 1, 0>}> : (tensor<32x20xf32>) -> tensor<20x32xf32>
    %19 = "stablehlo.dot_general"(%arg8, %18) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x20xf32>, tensor<20x32xf32>) -> tensor<8x32xf32>
    %20 = "stablehlo.convert"(%11) : (tensor<1xi64>) -> tensor<1xf32>
    %21 = "stablehlo.reshape"(%20) : (tensor<1xf32>) -> tensor<f32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x32xf32>
    %23 = "stablehlo.multiply"(%19, %22) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %24 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<32xf32>) -> tensor<8x32xf32>
    %25 = "stablehlo.multiply"(%24, %22) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %26 = "stablehlo.add"(%23, %25) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %27 = "stablehlo.maximum"(%26, %9) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %28 = "stablehlo.transpose"(%arg2) <{permutation = array<i64: 1, 0>}> : (tensor<5x32xf32>) -> tensor<32x5xf32>
    %29 = "stablehlo.dot_general"(%27, %28) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x32xf32>, tensor<32x5xf32>) -> tensor<8x5xf32>
    %30 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x5xf32>
    %31 = "stablehlo.multiply"(%29, %30) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %32 = "stablehlo.broadcast_in_dim"(%arg3) <{broadcast_dimensions = array<i64: 1>}> : (tensor<5xf32>) -> tensor<8x5xf32>
    %33 = "stablehlo.multiply"(%32, %30) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %34 = "stablehlo.add"(%31, %33) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %35 = "stablehlo.reduce"(%34, %10) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg40: tensor<f32>, %arg41: tensor<f32>):
      %249 = "stablehlo.maximum"(%arg40, %arg41) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%249) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<8xf32>
    %36 = "stablehlo.reshape"(%35) : (tensor<8xf32>) -> tensor<8x1xf32>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x5xf32>
    %38 = "stablehlo.subtract"(%34, %37) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %39 = "stablehlo.exponential"(%38) : (tensor<8x5xf32>) -> tensor<8x5xf32>
    %40 = "stablehlo.reduce"(%39, %6) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg38: tensor<f32>, %arg39: tensor<f32>):
      %248 = "stablehlo.add"(%arg38, %arg39) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%248) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<8xf32>
    %41 = "stablehlo.reshape"(%40) : (tensor<8xf32>) -> tensor<8x1xf32>
    %42 = "stablehlo.log"(%41) : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x5xf32>
    %44 = "stablehlo.subtract"(%38, %43) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %45 = "stablehlo.compare"(%arg9, %3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi1>
    %46 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xi1>) -> tensor<8xi1>
    %47 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xi64>) -> tensor<8xi64>
    %48 = "stablehlo.select"(%46, %47, %2) : (tensor<8xi1>, tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
    %49 = "stablehlo.reshape"(%48) : (tensor<8xi64>) -> tensor<8x1xi64>
    %50 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<8x1x1xi64>
    %51 = "stablehlo.reshape"(%49) : (tensor<8x1xi64>) -> tensor<8x1x1xi64>
    %52 = "stablehlo.concatenate"(%50, %51) <{dimension = 2 : i64}> : (tensor<8x1x1xi64>, tensor<8x1x1xi64>) -> tensor<8x1x2xi64>
    %53 = "stablehlo.gather"(%44, %52) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x5xf32>, tensor<8x1x2xi64>) -> tensor<8x1xf32>
    %54 = "stablehlo.reshape"(%53) : (tensor<8x1xf32>) -> tensor<8xf32>
    %55 = "stablehlo.negate"(%54) : (tensor<8xf32>) -> tensor<8xf32>
    %56 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8xf32>
    %57 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %58 = "stablehlo.select"(%46, %56, %57) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %59 = "stablehlo.convert"(%45) : (tensor<8xi1>) -> tensor<8xi64>
    %60 = "stablehlo.reduce"(%59, %7) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg36: tensor<i64>, %arg37: tensor<i64>):
      %247 = "stablehlo.add"(%arg36, %arg37) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%247) : (tensor<i64>) -> ()
    }) : (tensor<8xi64>, tensor<i64>) -> tensor<i64>
    %61 = "stablehlo.convert"(%60) : (tensor<i64>) -> tensor<f32>
    %62 = "stablehlo.reduce"(%58, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg34: tensor<f32>, %arg35: tensor<f32>):
      %246 = "stablehlo.add"(%arg34, %arg35) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%246) : (tensor<f32>) -> ()
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %63 = "stablehlo.divide"(%62, %61) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %64 = "stablehlo.divide"(%8, %61) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %65 = "stablehlo.reshape"(%arg9) : (tensor<8xi64>) -> tensor<8x1xi64>
    %66 = "stablehlo.compare"(%65, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<8x1xi64>, tensor<8x1xi64>) -> tensor<8x1xi1>
    %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xi1>) -> tensor<8x1xi1>
    %68 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xi64>) -> tensor<8x1xi64>
    %69 = "stablehlo.select"(%67, %68, %0) : (tensor<8x1xi1>, tensor<8x1xi64>, tensor<8x1xi64>) -> tensor<8x1xi64>
    %70 = "stablehlo.slice"(%4) <{limit_indices = array<i64: 8, 1>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<8x1xf32>) -> tensor<8x1xf32>
    %71 = "stablehlo.reshape"(%69) : (tensor<8x1xi64>) -> tensor<8x1x1xi64>
    %72 = "stablehlo.concatenate"(%50, %71) <{dimension = 2 : i64}> : (tensor<8x1x1xi64>, tensor<8x1x1xi64>) -> tensor<8x1x2xi64>
    %73 = "stablehlo.scatter"(%5, %72, %70) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg32: tensor<f32>, %arg33: tensor<f32>):
      "stablehlo.return"(%arg33) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<8x1x2xi64>, tensor<8x1xf32>) -> tensor<8x5xf32>
    %74 = "stablehlo.broadcast_in_dim"(%64) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x1xf32>
    %75 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x1xf32>
    %76 = "stablehlo.select"(%67, %74, %75) : (tensor<8x1xi1>, tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
    %77 = "stablehlo.broadcast_in_dim"(%76) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x5xf32>
    %78 = "stablehlo.multiply"(%73, %77) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %79 = "stablehlo.exponential"(%44) : (tensor<8x5xf32>) -> tensor<8x5xf32>
    %80 = "stablehlo.reduce"(%78, %6) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg30: tensor<f32>, %arg31: tensor<f32>):
      %245 = "stablehlo.add"(%arg30, %arg31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%245) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<8xf32>
    %81 = "stablehlo.reshape"(%80) : (tensor<8xf32>) -> tensor<8x1xf32>
    %82 = "stablehlo.broadcast_in_dim"(%81) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x5xf32>
    %83 = "stablehlo.multiply"(%79, %82) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %84 = "stablehlo.subtract"(%78, %83) : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
    %85 = "stablehlo.transpose"(%28) <{permutation = array<i64: 1, 0>}> : (tensor<32x5xf32>) -> tensor<5x32xf32>
    %86 = "stablehlo.dot_general"(%84, %85) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x5xf32>, tensor<5x32xf32>) -> tensor<8x32xf32>
    %87 = "stablehlo.transpose"(%84) <{permutation = array<i64: 1, 0>}> : (tensor<8x5xf32>) -> tensor<5x8xf32>
    %88 = "stablehlo.dot_general"(%87, %27) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<5x8xf32>, tensor<8x32xf32>) -> tensor<5x32xf32>
    %89 = "stablehlo.transpose"(%88) <{permutation = array<i64: 1, 0>}> : (tensor<5x32xf32>) -> tensor<32x5xf32>
    %90 = "stablehlo.reduce"(%84, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg28: tensor<f32>, %arg29: tensor<f32>):
      %244 = "stablehlo.add"(%arg28, %arg29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%244) : (tensor<f32>) -> ()
    }) : (tensor<8x5xf32>, tensor<f32>) -> tensor<5xf32>
    %91 = "stablehlo.reshape"(%90) : (tensor<5xf32>) -> tensor<1x5xf32>
    %92 = "stablehlo.reshape"(%91) : (tensor<1x5xf32>) -> tensor<5xf32>
    %93 = "stablehlo.transpose"(%89) <{permutation = array<i64: 1, 0>}> : (tensor<32x5xf32>) -> tensor<5x32xf32>
    %94 = "stablehlo.convert"(%7) : (tensor<i64>) -> tensor<f32>
    %95 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x32xf32>
    %96 = "stablehlo.compare"(%27, %95) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xi1>
    %97 = "stablehlo.broadcast_in_dim"(%96) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x32xi1>) -> tensor<8x32xi1>
    %98 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x32xf32>
    %99 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x32xf32>) -> tensor<8x32xf32>
    %100 = "stablehlo.select"(%97, %98, %99) : (tensor<8x32xi1>, tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
    %101 = "stablehlo.transpose"(%100) <{permutation = array<i64: 1, 0>}> : (tensor<8x32xf32>) -> tensor<32x8xf32>
    %102 = "stablehlo.dot_general"(%101, %arg8) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<32x8xf32>, tensor<8x20xf32>) -> tensor<32x20xf32>
    %103 = "stablehlo.transpose"(%102) <{permutation = array<i64: 1, 0>}> : (tensor<32x20xf32>) -> tensor<20x32xf32>
    %104 = "stablehlo.reduce"(%100, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg26: tensor<f32>, %arg27: tensor<f32>):
      %243 = "stablehlo.add"(%arg26, %arg27) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%243) : (tensor<f32>) -> ()
    }) : (tensor<8x32xf32>, tensor<f32>) -> tensor<32xf32>
    %105 = "stablehlo.reshape"(%104) : (tensor<32xf32>) -> tensor<1x32xf32>
    %106 = "stablehlo.reshape"(%105) : (tensor<1x32xf32>) -> tensor<32xf32>
    %107 = "stablehlo.transpose"(%103) <{permutation = array<i64: 1, 0>}> : (tensor<20x32xf32>) -> tensor<32x20xf32>
    %108 = "stablehlo.convert"(%12) : (tensor<1xf64>) -> tensor<1xf32>
    %109 = "stablehlo.reshape"(%108) : (tensor<1xf32>) -> tensor<f32>
    %110 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %111 = "stablehlo.multiply"(%arg0, %110) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %112 = "stablehlo.add"(%107, %111) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %113 = "stablehlo.convert"(%13) : (tensor<1xi64>) -> tensor<1xf32>
    %114 = "stablehlo.reshape"(%113) : (tensor<1xf32>) -> tensor<f32>
    %115 = "stablehlo.abs"(%arg0) : (tensor<32x20xf32>) -> tensor<32x20xf32>
    %116 = "stablehlo.broadcast_in_dim"(%114) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %117 = "stablehlo.power"(%115, %116) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %118 = "stablehlo.reduce"(%117, %6) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg24: tensor<f32>, %arg25: tensor<f32>):
      %242 = "stablehlo.add"(%arg24, %arg25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%242) : (tensor<f32>) -> ()
    }) : (tensor<32x20xf32>, tensor<f32>) -> tensor<f32>
    %119 = "stablehlo.divide"(%8, %114) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %120 = "stablehlo.power"(%118, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %121 = "stablehlo.abs"(%112) : (tensor<32x20xf32>) -> tensor<32x20xf32>
    %122 = "stablehlo.power"(%121, %116) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %123 = "stablehlo.reduce"(%122, %6) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg22: tensor<f32>, %arg23: tensor<f32>):
      %241 = "stablehlo.add"(%arg22, %arg23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%241) : (tensor<f32>) -> ()
    }) : (tensor<32x20xf32>, tensor<f32>) -> tensor<f32>
    %124 = "stablehlo.power"(%123, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %125 = "stablehlo.convert"(%14) : (tensor<1xf64>) -> tensor<1xf64>
    %126 = "stablehlo.reshape"(%125) : (tensor<1xf64>) -> tensor<f64>
    %127 = "stablehlo.convert"(%126) : (tensor<f64>) -> tensor<f32>
    %128 = "stablehlo.compare"(%120, %127) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %129 = "stablehlo.compare"(%124, %94) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %130 = "stablehlo.convert"(%15) : (tensor<1xf64>) -> tensor<1xf32>
    %131 = "stablehlo.reshape"(%130) : (tensor<1xf32>) -> tensor<f32>
    %132 = "stablehlo.multiply"(%120, %131) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %133 = "stablehlo.divide"(%132, %124) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %134 = "stablehlo.broadcast_in_dim"(%133) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %135 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %136 = "stablehlo.select"(%129, %134, %135) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %137 = "stablehlo.broadcast_in_dim"(%136) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %138 = "stablehlo.select"(%128, %137, %135) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %139 = "stablehlo.convert"(%16) : (tensor<1xf64>) -> tensor<1xf32>
    %140 = "stablehlo.reshape"(%139) : (tensor<1xf32>) -> tensor<f32>
    %141 = "stablehlo.broadcast_in_dim"(%140) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %142 = "stablehlo.multiply"(%arg4, %141) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %143 = "stablehlo.broadcast_in_dim"(%138) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %144 = "stablehlo.multiply"(%112, %143) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %145 = "stablehlo.add"(%142, %144) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %146 = "stablehlo.convert"(%17) : (tensor<1xf64>) -> tensor<1xf32>
    %147 = "stablehlo.reshape"(%146) : (tensor<1xf32>) -> tensor<f32>
    %148 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x20xf32>
    %149 = "stablehlo.multiply"(%145, %148) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %150 = "stablehlo.add"(%arg0, %149) : (tensor<32x20xf32>, tensor<32x20xf32>) -> tensor<32x20xf32>
    %151 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %152 = "stablehlo.multiply"(%arg1, %151) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %153 = "stablehlo.add"(%106, %152) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %154 = "stablehlo.abs"(%arg1) : (tensor<32xf32>) -> tensor<32xf32>
    %155 = "stablehlo.broadcast_in_dim"(%114) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %156 = "stablehlo.power"(%154, %155) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %157 = "stablehlo.reduce"(%156, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg20: tensor<f32>, %arg21: tensor<f32>):
      %240 = "stablehlo.add"(%arg20, %arg21) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%240) : (tensor<f32>) -> ()
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
    %158 = "stablehlo.power"(%157, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %159 = "stablehlo.abs"(%153) : (tensor<32xf32>) -> tensor<32xf32>
    %160 = "stablehlo.power"(%159, %155) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %161 = "stablehlo.reduce"(%160, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg18: tensor<f32>, %arg19: tensor<f32>):
      %239 = "stablehlo.add"(%arg18, %arg19) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%239) : (tensor<f32>) -> ()
    }) : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
    %162 = "stablehlo.power"(%161, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %163 = "stablehlo.compare"(%158, %127) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %164 = "stablehlo.compare"(%162, %94) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %165 = "stablehlo.multiply"(%158, %131) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %166 = "stablehlo.divide"(%165, %162) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %167 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %168 = "stablehlo.select"(%164, %167, %135) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %169 = "stablehlo.broadcast_in_dim"(%168) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %170 = "stablehlo.select"(%163, %169, %135) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %171 = "stablehlo.broadcast_in_dim"(%140) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %172 = "stablehlo.multiply"(%arg5, %171) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %173 = "stablehlo.broadcast_in_dim"(%170) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %174 = "stablehlo.multiply"(%153, %173) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %175 = "stablehlo.add"(%172, %174) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %176 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32xf32>
    %177 = "stablehlo.multiply"(%175, %176) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %178 = "stablehlo.add"(%arg1, %177) : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
    %179 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %180 = "stablehlo.multiply"(%arg2, %179) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %181 = "stablehlo.add"(%93, %180) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %182 = "stablehlo.abs"(%arg2) : (tensor<5x32xf32>) -> tensor<5x32xf32>
    %183 = "stablehlo.broadcast_in_dim"(%114) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %184 = "stablehlo.power"(%182, %183) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %185 = "stablehlo.reduce"(%184, %6) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<f32>):
      %238 = "stablehlo.add"(%arg16, %arg17) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%238) : (tensor<f32>) -> ()
    }) : (tensor<5x32xf32>, tensor<f32>) -> tensor<f32>
    %186 = "stablehlo.power"(%185, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %187 = "stablehlo.abs"(%181) : (tensor<5x32xf32>) -> tensor<5x32xf32>
    %188 = "stablehlo.power"(%187, %183) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %189 = "stablehlo.reduce"(%188, %6) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %237 = "stablehlo.add"(%arg14, %arg15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%237) : (tensor<f32>) -> ()
    }) : (tensor<5x32xf32>, tensor<f32>) -> tensor<f32>
    %190 = "stablehlo.power"(%189, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %191 = "stablehlo.compare"(%186, %127) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %192 = "stablehlo.compare"(%190, %94) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %193 = "stablehlo.multiply"(%186, %131) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %194 = "stablehlo.divide"(%193, %190) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %195 = "stablehlo.broadcast_in_dim"(%194) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %196 = "stablehlo.select"(%192, %195, %135) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %197 = "stablehlo.broadcast_in_dim"(%196) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %198 = "stablehlo.select"(%191, %197, %135) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %199 = "stablehlo.broadcast_in_dim"(%140) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %200 = "stablehlo.multiply"(%arg6, %199) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %201 = "stablehlo.broadcast_in_dim"(%198) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %202 = "stablehlo.multiply"(%181, %201) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %203 = "stablehlo.add"(%200, %202) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %204 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5x32xf32>
    %205 = "stablehlo.multiply"(%203, %204) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %206 = "stablehlo.add"(%arg2, %205) : (tensor<5x32xf32>, tensor<5x32xf32>) -> tensor<5x32xf32>
    %207 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %208 = "stablehlo.multiply"(%arg3, %207) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %209 = "stablehlo.add"(%92, %208) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %210 = "stablehlo.abs"(%arg3) : (tensor<5xf32>) -> tensor<5xf32>
    %211 = "stablehlo.broadcast_in_dim"(%114) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %212 = "stablehlo.power"(%210, %211) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %213 = "stablehlo.reduce"(%212, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg12: tensor<f32>, %arg13: tensor<f32>):
      %236 = "stablehlo.add"(%arg12, %arg13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%236) : (tensor<f32>) -> ()
    }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    %214 = "stablehlo.power"(%213, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %215 = "stablehlo.abs"(%209) : (tensor<5xf32>) -> tensor<5xf32>
    %216 = "stablehlo.power"(%215, %211) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %217 = "stablehlo.reduce"(%216, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg10: tensor<f32>, %arg11: tensor<f32>):
      %235 = "stablehlo.add"(%arg10, %arg11) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%235) : (tensor<f32>) -> ()
    }) : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    %218 = "stablehlo.power"(%217, %119) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %219 = "stablehlo.compare"(%214, %127) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %220 = "stablehlo.compare"(%218, %94) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %221 = "stablehlo.multiply"(%214, %131) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %222 = "stablehlo.divide"(%221, %218) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %223 = "stablehlo.broadcast_in_dim"(%222) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %224 = "stablehlo.select"(%220, %223, %135) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %225 = "stablehlo.broadcast_in_dim"(%224) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<f32>
    %226 = "stablehlo.select"(%219, %225, %135) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %227 = "stablehlo.broadcast_in_dim"(%140) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %228 = "stablehlo.multiply"(%arg7, %227) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %229 = "stablehlo.broadcast_in_dim"(%226) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %230 = "stablehlo.multiply"(%209, %229) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %231 = "stablehlo.add"(%228, %230) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %232 = "stablehlo.broadcast_in_dim"(%147) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<5xf32>
    %233 = "stablehlo.multiply"(%231, %232) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    %234 = "stablehlo.add"(%arg3, %233) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
    "func.return"(%150, %178, %206, %234, %145, %175, %203, %231, %63, %107, %106, %93, %92) : (tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>, tensor<f32>, tensor<32x20xf32>, tensor<32xf32>, tensor<5x32xf32>, tensor<5xf32>) -> ()
  }) : () -> ()
}) : () -> ()
